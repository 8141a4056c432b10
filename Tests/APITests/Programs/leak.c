// Leaks, to show that leaks are found.
#include "check.h"

int main(void) {
  void *volatile memory = malloc(100);
  CHECK(memory != NULL);
  memory = NULL;
  return 0;
}
