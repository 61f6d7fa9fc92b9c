// SPDX-License-Identifier: Apache-2.0
/* Sends one U_PDU from C and tells how it ended: `c_client HOST PORT SAP DESTINATION TEXT`. Ends
   with 0 when the other node has confirmed it, with 1 also when there is no server after a few
   attempts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sis/c/s5066_sis.h"

enum { ATTEMPTS_MAX = 3 };

static int send_text(s5066_sis* client, uint32_t destination, uint8_t sap, const char* text,
                     uint64_t* id) {
  s5066_sis_request request;
  int result;
  memset(&request, 0, sizeof request);
  request.destination = destination;
  request.destination_sap = sap;
  request.mode = S5066_SIS_MODE_ARQ;
  request.confirm = S5066_SIS_CONFIRM_NODE;
  request.data = (const uint8_t*)text;
  request.size = strlen(text);
  result = s5066_sis_send(client, &request, id);
  if (result != S5066_SIS_OK) fprintf(stderr, "not sent: %s\n", s5066_sis_error_text(result));
  return result;
}

int main(int argc, char** argv) {
  s5066_sis_config config;
  s5066_sis_event event;
  s5066_sis* client = NULL;
  uint32_t destination = 0;
  uint64_t id = 0;
  int attempts = 0;
  int result;
  int code = 1;

  if (argc != 6 || s5066_sis_parse_address(argv[4], &destination) != S5066_SIS_OK) {
    fprintf(stderr, "c_client HOST PORT SAP DESTINATION TEXT\n");
    return 2;
  }
  memset(&config, 0, sizeof config);
  config.host = argv[1];
  config.port = (uint16_t)atoi(argv[2]);
  config.sap = (uint8_t)atoi(argv[3]);
  result = s5066_sis_open(&config, &client);
  if (result != S5066_SIS_OK) {
    fprintf(stderr, "c_client: %s\n", s5066_sis_error_text(result));
    return 1;
  }
  while (s5066_sis_next_event(client, &event, 60000) == S5066_SIS_OK) {
    printf("%s\n", event.text);
    if (event.kind == S5066_SIS_BOUND && id == 0) {
      if (send_text(client, destination, config.sap, argv[5], &id) != S5066_SIS_OK) break;
    }
    if (event.kind == S5066_SIS_LOST && ++attempts == ATTEMPTS_MAX) break;
    if (event.kind == S5066_SIS_DATA) {
      printf("%.*s\n", (int)event.size, (const char*)event.data);
    }
    if (event.kind == S5066_SIS_CONFIRMED && event.request == id) {
      code = 0;
      break;
    }
    if (event.kind == S5066_SIS_REJECTED || event.kind == S5066_SIS_UNRESOLVED) break;
  }
  s5066_sis_close(client);
  return code;
}
