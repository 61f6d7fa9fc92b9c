// SPDX-License-Identifier: Apache-2.0
/* Uses every function of the C interface against the server that sis_c_test.cpp plays: prints each
   event and what the functions return. `program PORT` */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sis/c/s5066_sis.h"

static void print_blocks(const char* name, const s5066_sis_block* blocks, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) printf(" %s=%u+%u", name, blocks[i].offset, blocks[i].octets);
}

static int done;

static void on_event(s5066_sis* client, const s5066_sis_event* event) {
  const uint8_t body[] = {1, 2, 3};
  s5066_sis_request request;
  uint64_t id = 0;
  int result;

  memset(&request, 0, sizeof request);
  switch (event->kind) {
    case S5066_SIS_BOUND:
      printf("bound %u\n", event->mtu);
      request.destination = 0x01020305;
      request.destination_sap = 7;
      request.priority = 9;
      request.mode = S5066_SIS_MODE_ARQ;
      request.confirm = S5066_SIS_CONFIRM_CLIENT;
      request.time_to_live_s = 61;
      request.data = (const uint8_t*)"hello";
      request.size = 5;
      result = s5066_sis_send(client, &request, &id);
      printf("send %d %d\n", result, (int)id);
      request.expedited = 1;
      result = s5066_sis_send(client, &request, NULL);
      printf("send %d\n", result);
      request.size = 101;
      printf("too large %d\n", s5066_sis_send(client, &request, NULL) == S5066_SIS_TOO_LARGE);
      request.size = 5;
      request.destination = 0x1FFFFFFF;
      printf("bad %d\n", s5066_sis_send(client, &request, NULL) == S5066_SIS_BAD_ARGUMENT);
      printf("management %d\n", s5066_sis_send_management(client, 4, body, sizeof body, NULL));
      request.destination = 0x01020305;
      request.mode = S5066_SIS_MODE_OF_BIND; /* and what does not count then */
      request.confirm = 4;
      request.retransmissions = 16;
      printf("of bind %d\n", s5066_sis_send(client, &request, NULL));
      break;
    case S5066_SIS_CONFIRMED:
      printf("confirmed %d\n", (int)event->request);
      break;
    case S5066_SIS_REJECTED:
      printf("rejected %d reason %d\n", (int)event->request, event->reason);
      break;
    case S5066_SIS_SENT:
      printf("sent %d\n", (int)event->request);
      break;
    case S5066_SIS_MANAGEMENT:
      printf("management %u %u\n", event->message_type, (unsigned)event->size);
      {
        s5066_sis_hard_link link;
        memset(&link, 0, sizeof link);
        link.remote = 0x01020305;
        link.type = 2;
        link.priority = 1;
        link.remote_sap = 7;
        printf("link %d\n", s5066_sis_request_link(client, &link));
        printf("again %d\n", s5066_sis_request_link(client, &link) == S5066_SIS_ALREADY_THERE);
      }
      break;
    case S5066_SIS_LINK_ESTABLISHED:
      printf("established %u %u %08x\n", event->link.type, event->link.priority,
             event->link.remote);
      printf("end %d\n", s5066_sis_end_link(client, event->link.remote));
      break;
    case S5066_SIS_LINK_OFFERED:
      if (event->link.priority == 3) {
        printf("accept %d\n", s5066_sis_accept_link(client, &event->link));
      } else {
        printf("reject %d\n", s5066_sis_reject_link(client, &event->link, 2));
      }
      break;
    case S5066_SIS_DATA:
      printf("data %08x/%u to %08x/%u mode %u %.*s", event->source, event->source_sap,
             event->destination, event->destination_sap, event->mode, (int)event->size,
             (const char*)event->data);
      print_blocks("errored", event->errored, event->errored_count);
      print_blocks("missing", event->missing, event->missing_count);
      printf("\n");
      break;
    case S5066_SIS_UNBOUND:
      printf("unbound %d\n", event->reason);
      done = 1;
      break;
    default:
      printf("%s\n", event->text);
      break;
  }
  fflush(stdout);
}

int main(int argc, char** argv) {
  s5066_sis_config config;
  s5066_sis_event event;
  s5066_sis* client = NULL;
  struct pollfd waiting;
  uint32_t address = 0;

  if (argc != 2) return 2;
  memset(&config, 0, sizeof config);
  config.host = "127.0.0.1";
  config.port = (uint16_t)atoi(argv[1]);
  config.sap = 6;
  config.rank = 15;
  if (s5066_sis_parse_address("31.255.255.255", &address) != 0 || address != 0x1FFFFFFF) return 3;
  if (s5066_sis_parse_address("1.2.3", &address) != S5066_SIS_BAD_ARGUMENT) return 4;
  if (s5066_sis_open(&config, &client) != S5066_SIS_OK) return 5;
  while (!done) {
    waiting.fd = s5066_sis_fd(client);
    waiting.events = POLLIN;
    waiting.revents = 0;
    if (poll(&waiting, 1, 60000) != 1) return 6;
    while (s5066_sis_next_event(client, &event, 0) == S5066_SIS_OK) on_event(client, &event);
  }
  s5066_sis_close(client);
  return 0;
}
