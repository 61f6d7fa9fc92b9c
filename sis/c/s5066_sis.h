// SPDX-License-Identifier: Apache-2.0
// A SIS client (STANAG 5066 Annex A) for C and for every language that can call C: opaque handles,
// plain structs, integer error codes.
//
// Each handle has a thread of its own that keeps the connection, binds again by itself, answers
// keep-alives and queues events. The application fetches events one by one, waiting as long as it
// likes, or watches a descriptor in an event loop of its own. Nothing ever calls back into the
// application, so that bindings for other languages stay simple: no function pointers, no foreign
// threads, no clock and no timers to drive.
//
// All functions may be called from any thread, with two exceptions. Only one thread at a time may
// call s5066_sis_next_event(). No other call may be under way when s5066_sis_close() begins, or
// follow it. Signals are left to the threads of the application.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define S5066_SIS_API __attribute__((visibility("default")))
#else
#define S5066_SIS_API
#endif

typedef struct s5066_sis s5066_sis;

// Return values of the functions: 0, or one of these.
enum {
  S5066_SIS_OK = 0,
  S5066_SIS_TIMED_OUT = -1,      // no event in the time allowed
  S5066_SIS_CLOSED = -2,         // the client has stopped, see S5066_SIS_OVERFLOW
  S5066_SIS_BAD_ARGUMENT = -3,   // a null pointer, or a value that the standard forbids
  S5066_SIS_NOT_BOUND = -4,      // wait for S5066_SIS_BOUND
  S5066_SIS_QUEUE_FULL = -5,     // too many requests held; wait for the end of one
  S5066_SIS_TOO_LARGE = -6,      // over the MTU that S5066_SIS_BOUND told
  S5066_SIS_REFUSED = -7,        // management messages need rank 15
  S5066_SIS_NOT_FOUND = -8,      // no such hard link
  S5066_SIS_ALREADY_THERE = -9,  // this hard link was asked for before
  S5066_SIS_FAILED = -10         // the system has no memory, thread or descriptor left
};

// Transmission modes and confirmations (A.2.2.28.2). Confirmations need ARQ.
enum {
  S5066_SIS_MODE_OF_BIND = 0,  // in requests: as the config says
  S5066_SIS_MODE_ARQ = 1,
  S5066_SIS_MODE_NONARQ = 2,
  S5066_SIS_MODE_NONARQ_WITH_ERRORS = 3
};
enum { S5066_SIS_CONFIRM_NONE = 0, S5066_SIS_CONFIRM_NODE = 1, S5066_SIS_CONFIRM_CLIENT = 2 };

// Addresses are numbers whose four octets are w.x.y.z, w first: nodes are 0.0.0.0 to
// 15.255.255.255, groups 16.0.0.0 to 31.255.255.255, and 0x1FFFFFFF is all stations.

// Strings may be NULL if a default is named. They are copied.
typedef struct s5066_sis_config {
  const char* host;              // "localhost"; a name with a / is the path of a local socket
  uint16_t port;                 // 0: 5066
  uint8_t sap;                   // 0..15
  uint8_t rank;                  // 0..15
  uint8_t mode;                  // of the bind: S5066_SIS_MODE_ARQ unless 2 or 3 is given
  uint8_t confirm;               // of the bind
  uint8_t tls;                   // 1: connect with TLS
  uint8_t reserved;              // 0
  const char* ca_file;           // PEM; NULL: the authorities that the system trusts
  const char* certificate_file;  // PEM; NULL: none
  const char* key_file;          // PEM; NULL: it is in certificate_file
  const char* server_name;       // in the server's certificate; NULL: the host
  uint32_t events_max;           // events that may wait to be fetched; 0: 4096
  uint32_t event_octets_max;     // octets of U_PDUs in them; 0: 16 MiB
} s5066_sis_config;

typedef struct s5066_sis_request {
  uint32_t destination;
  uint8_t destination_sap;  // 0..15
  uint8_t priority;         // 0..15, larger first; ignored for expedited data
  uint8_t expedited;        // 1: overtakes all normal data
  uint8_t mode;
  uint8_t confirm;          // this and the next two count unless mode is S5066_SIS_MODE_OF_BIND
  uint8_t as_they_arrive;   // 1: no order required
  uint8_t retransmissions;  // 0..15, without ARQ: sent 1 + this many times
  uint8_t reserved;         // 0
  uint32_t time_to_live_s;  // up to 15 days, rounded up to 2 s; 0: the node's default
  const uint8_t* data;
  size_t size;
} s5066_sis_request;

typedef struct s5066_sis_hard_link {
  uint32_t remote;     // a node
  uint8_t type;        // 0: link reserved; 1: capacity for us; 2: for us and one client there
  uint8_t priority;    // 0..3
  uint8_t remote_sap;  // counts for type 2 only
  uint8_t reserved;    // 0
} s5066_sis_hard_link;

// Kinds of events, and the fields that are set besides kind and text.
enum {
  S5066_SIS_BOUND = 1,              // mtu: requests are accepted from here on
  S5066_SIS_BIND_REJECTED = 2,      // reason of A.2.1.4; the client asks again by itself
  S5066_SIS_UNBOUND = 3,            // reason of A.2.1.5; the client binds again by itself
  S5066_SIS_LOST = 4,               // no connection; the client connects again by itself
  S5066_SIS_FLOW_OFF = 5,           // requests are held
  S5066_SIS_FLOW_ON = 6,            //
  S5066_SIS_DATA = 7,               // a U_PDU: expedited to errored and missing
  S5066_SIS_CONFIRMED = 8,          // request
  S5066_SIS_REJECTED = 9,           // request, reason of A.2.1.8, reach: not known to be delivered
  S5066_SIS_SENT = 10,              // request: on its way to the server, no confirmation requested
  S5066_SIS_UNRESOLVED = 11,        // request: its result is unknown
  S5066_SIS_LINK_ESTABLISHED = 12,  // link, status
  S5066_SIS_LINK_REJECTED = 13,     // link, reason of A.2.1.21
  S5066_SIS_LINK_TERMINATED = 14,   // link, reason of A.2.1.22
  S5066_SIS_LINK_OFFERED = 15,      // link: accept or reject it
  S5066_SIS_LINK_LOST = 16,         // link: it ended with the binding, or was never answered
  S5066_SIS_AVAILABILITY = 17,      // status and reason of A.2.1.26
  S5066_SIS_MANAGEMENT = 18,        // message_type, data
  S5066_SIS_OVERFLOW = 19           // events were not fetched; the client has stopped
};

// How far a rejected U_PDU came, as far as the reason tells.
enum {
  S5066_SIS_REACH_UNKNOWN = 0,       // it may even have been delivered
  S5066_SIS_REACH_NEVER_LEFT = 1,    // our node did not accept it
  S5066_SIS_REACH_REFUSED_THERE = 2  // the other node reports that no client there took it
};

typedef struct s5066_sis_block {
  uint16_t offset;  // in the U_PDU
  uint16_t octets;
} s5066_sis_block;

// The pointers stay valid until the next call of s5066_sis_next_event() or s5066_sis_close().
typedef struct s5066_sis_event {
  int32_t kind;
  int32_t reason;
  uint64_t request;  // as s5066_sis_send() returned it
  s5066_sis_hard_link link;
  uint32_t source;
  uint32_t destination;  // our address, or the group used by the sender
  uint16_t mtu;
  uint8_t status;
  uint8_t message_type;
  uint8_t expedited;
  uint8_t priority;
  uint8_t source_sap;
  uint8_t destination_sap;
  uint8_t mode;
  uint8_t reach;  // for S5066_SIS_REJECTED
  uint8_t reserved[6];
  const uint8_t* data;
  size_t size;
  const s5066_sis_block* errored;  // for S5066_SIS_MODE_NONARQ_WITH_ERRORS
  size_t errored_count;
  const s5066_sis_block* missing;  // for the same mode; these octets are 0
  size_t missing_count;
  const char* text;  // a line for people
} s5066_sis_event;

// Starts a client, which connects and binds, and repeats that until it is closed. `*client` is set
// on success only.
S5066_SIS_API int s5066_sis_open(const s5066_sis_config* config, s5066_sis** client);

// Unbinds, disconnects and frees everything. This takes a few seconds if the server does not read,
// and as long as a running look-up of the host's name. NULL is allowed.
S5066_SIS_API void s5066_sis_close(s5066_sis* client);

// Fetches the next event. Waits up to timeout_ms, without limit if that is negative.
S5066_SIS_API int s5066_sis_next_event(s5066_sis* client, s5066_sis_event* event, int timeout_ms);

// Returns a descriptor for poll() that is readable while events wait and once the client has
// stopped. Do not read from it.
S5066_SIS_API int s5066_sis_fd(const s5066_sis* client);

// Accepts a U_PDU. Exactly one event reports its end: CONFIRMED, REJECTED, SENT or UNRESOLVED. `id`
// may be NULL.
S5066_SIS_API int s5066_sis_send(s5066_sis* client, const s5066_sis_request* request, uint64_t* id);

// Accepts a message for the node itself; it ends as SENT or UNRESOLVED.
S5066_SIS_API int s5066_sis_send_management(s5066_sis* client, uint8_t message_type,
                                            const uint8_t* body, size_t size, uint64_t* id);

// Asks for a hard link; ends in LINK_ESTABLISHED, LINK_REJECTED or LINK_LOST.
S5066_SIS_API int s5066_sis_request_link(s5066_sis* client, const s5066_sis_hard_link* link);
// Ends the hard links to that node; no further event reports them.
S5066_SIS_API int s5066_sis_end_link(s5066_sis* client, uint32_t remote);
// These answer LINK_OFFERED, with the link as it was offered.
S5066_SIS_API int s5066_sis_accept_link(s5066_sis* client, const s5066_sis_hard_link* link);
S5066_SIS_API int s5066_sis_reject_link(s5066_sis* client, const s5066_sis_hard_link* link,
                                        uint8_t reason);

// Returns text like "not bound".
S5066_SIS_API const char* s5066_sis_error_text(int error);
// Converts text like "1.2.3.4" to a number; S5066_SIS_BAD_ARGUMENT if it is no address.
S5066_SIS_API int s5066_sis_parse_address(const char* text, uint32_t* address);

#ifdef __cplusplus
}
#endif
