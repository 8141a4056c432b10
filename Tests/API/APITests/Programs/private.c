// A plugin whose library the user may not read.
#include "units.h"

#include <sys/stat.h>
#include <unistd.h>

/// Makes a bundle of eg-amp under another URI of the same length, and returns the path of its
/// library.
static const char *make_bundle(const char *folder) {
  static char command[1000], library[300];
  snprintf(command, sizeof command,
           "mkdir %s/private.lv2 && cd %s/private.lv2 && cp /usr/lib/lv2/eg-amp.lv2/* . && "
           "sed -i s,http://lv2plug.in/plugins/eg-amp,urn:cuejack:tests:private-eg-amp, *",
           folder, folder);
  CHECK(system(command) == 0);
  snprintf(library, sizeof library, "%s/private.lv2/amp.so", folder);
  return library;
}

/// Returns the only LV2 plugin.
static AudioComponent find_plugin(void) {
  AudioComponentDescription description = {kAudioUnitType_Effect, 0, kAudioUnitManufacturer_LV2, 0,
                                           0};
  EQUAL(AudioComponentCount(&description), 1);
  return AudioComponentFindNext(NULL, &description);
}

int main(void) {
  char folder[] = "/tmp/cuejack-private-XXXXXX", command[100];
  CHECK(mkdtemp(folder) != NULL);
  const char *library = make_bundle(folder);
  CHECK(setenv("LV2_PATH", folder, 1) == 0);
  AudioUnit unit = NULL;
  WORKS(AudioComponentInstanceNew(find_plugin(), &unit));
  CHECK(chmod(library, 0) == 0);
  // The superuser may read all files.
  uid_t user = geteuid();
  if (user == 0) CHECK(seteuid(65534) == 0);
  GIVES(AudioUnitInitialize(unit), kAudioUnitErr_Unauthorized);
  if (user == 0) CHECK(seteuid(user) == 0);
  CHECK(chmod(library, 0644) == 0);
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioComponentInstanceDispose(unit));
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
  passed("a private library");
  return 0;
}
