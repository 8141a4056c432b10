// libpng's simplified interface, as Swift sees it.
#include <png.h>
