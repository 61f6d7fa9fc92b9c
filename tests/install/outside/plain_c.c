// SPDX-License-Identifier: Apache-2.0
/* Opens a client that finds no server, and closes it. */
#include <sis/c/s5066_sis.h>
#include <string.h>

int main(void) {
  s5066_sis_config config;
  s5066_sis_event event;
  s5066_sis* client = NULL;
  memset(&config, 0, sizeof config);
  config.host = "127.0.0.1";
  config.port = 1;
  if (s5066_sis_open(&config, &client) != S5066_SIS_OK) return 1;
  if (s5066_sis_next_event(client, &event, 60000) != S5066_SIS_OK) return 2;
  if (event.kind != S5066_SIS_LOST) return 3;
  s5066_sis_close(client);
  return 0;
}
