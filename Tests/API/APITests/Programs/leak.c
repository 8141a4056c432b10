// Leaks memory, to prove that leaks are detected.
#include "check.h"

int main(void) {
  void *volatile memory = malloc(100);
  CHECK(memory != NULL);
  memory = NULL;
  return 0;
}
