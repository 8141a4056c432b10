// Prints MIDI messages with their times, and passes them on.
//
// Usage: midi-monitor [-l] [-n COUNT] [NAME ...]
//
//   -l    lists sources and destinations, and ends
//   -n    ends after so many messages; default: with the end of its input
//   NAME  listens to the sources whose names contain one of these texts; without any, to all of
//   hardware
//
// Build it with make. It also has a virtual destination, to which any program can send, and a
// virtual source, from which what comes in goes out at once: two monitors can stand in a row. Times
// are seconds from the first message.

#include <CoreMIDI/CoreMIDI.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static MIDIEndpointRef echo;
static atomic_long count;
static long most = -1;
static UInt64 first_time;

static void fail(const char *what, OSStatus status) {
  fprintf(stderr, "midi-monitor: %s: %d\n", what, (int)status);
  exit(1);
}

/// Ends the program if the call fails.
#define TRY(function, ...)                                                                         \
  do {                                                                                             \
    OSStatus status_ = function(__VA_ARGS__);                                                      \
    if (status_ != noErr) fail(#function, status_);                                                \
  } while (0)

/// Stores a name by which people know an endpoint.
static const char *name_of(MIDIEndpointRef endpoint, char *name, size_t size) {
  CFStringRef text = NULL;
  name[0] = '\0';
  if (MIDIObjectGetStringProperty(endpoint, kMIDIPropertyDisplayName, &text) == noErr) {
    CFStringGetCString(text, name, (CFIndex)size, kCFStringEncodingUTF8);
    CFRelease(text);
  }
  return name;
}

static void print(const MIDIPacket *packet) {
  if (first_time == 0) first_time = packet->timeStamp;
  printf("%9.6f ", (double)(SInt64)(packet->timeStamp - first_time) / 1e9);
  for (UInt16 i = 0; i < packet->length && i < 16; i++)
    printf(" %02X", packet->data[i]);
  printf(packet->length > 16 ? " ... (%d bytes)\n" : "\n", packet->length);
  fflush(stdout);
}

/// A thread of the library calls this, one call after another.
static void hear(const MIDIPacketList *list, void *data, void *source) {
  (void)data, (void)source;
  TRY(MIDIReceived, echo, list);
  const MIDIPacket *packet = &list->packet[0];
  for (UInt32 i = 0; i < list->numPackets && (most < 0 || count < most); i++) {
    print(packet);
    packet = MIDIPacketNext(packet);
    count++;
  }
}

static void list_endpoints(void) {
  char name[256];
  for (ItemCount i = 0; i < MIDIGetNumberOfSources(); i++)
    printf("source: %s\n", name_of(MIDIGetSource(i), name, sizeof name));
  for (ItemCount i = 0; i < MIDIGetNumberOfDestinations(); i++)
    printf("destination: %s\n", name_of(MIDIGetDestination(i), name, sizeof name));
}

/// True if a source is one of those that the command line names, or of hardware.
static bool is_wanted(MIDIEndpointRef source, int names, char **texts) {
  char name[256];
  if (source == echo) return false;
  name_of(source, name, sizeof name);
  for (int i = 0; i < names; i++)
    if (strstr(name, texts[i])) return true;
  return names == 0 && strncmp(name, "system", 6) == 0;
}

int main(int argc, char **argv) {
  bool lists = false;
  int option;
  while ((option = getopt(argc, argv, "ln:")) != -1) {
    if (option == 'l') {
      lists = true;
    } else if (option == 'n' && atol(optarg) > 0) {
      most = atol(optarg);
    } else {
      fprintf(stderr, "usage: midi-monitor [-l] [-n COUNT] [NAME ...]\n");
      return 64;
    }
  }
  if (lists) {
    list_endpoints();
    return 0;
  }
  MIDIClientRef client;
  MIDIPortRef port;
  MIDIEndpointRef destination;
  TRY(MIDIClientCreate, CFSTR("midi-monitor"), NULL, NULL, &client);
  TRY(MIDISourceCreate, client, CFSTR("Out"), &echo);
  TRY(MIDIDestinationCreate, client, CFSTR("In"), hear, NULL, &destination);
  TRY(MIDIInputPortCreate, client, CFSTR("Sources"), hear, NULL, &port);
  char name[256];
  for (ItemCount i = 0; i < MIDIGetNumberOfSources(); i++) {
    MIDIEndpointRef source = MIDIGetSource(i);
    if (!is_wanted(source, argc - optind, argv + optind)) continue;
    TRY(MIDIPortConnectSource, port, source, NULL);
    printf("listening to %s\n", name_of(source, name, sizeof name));
  }
  printf("ready\n");
  fflush(stdout);
  char byte;
  while (most < 0 ? read(STDIN_FILENO, &byte, 1) > 0 : count < most)
    if (most >= 0) usleep(1000);
  TRY(MIDIClientDispose, client);
  return 0;
}
