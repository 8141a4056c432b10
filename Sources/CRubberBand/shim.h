// Rubber Band, as Swift sees it.
#include <rubberband/rubberband-c.h>
