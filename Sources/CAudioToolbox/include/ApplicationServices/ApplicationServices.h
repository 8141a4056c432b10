// The part of Application Services that sound programs use: that of Core Services.
#ifndef CUEJACK_APPLICATIONSERVICES_H
#define CUEJACK_APPLICATIONSERVICES_H
#include "../CoreServices/CoreServices.h"
#endif
