// Macros of the classic headers that say for what a program is compiled, and how it declares
// functions.
#ifndef CUEJACK_CONDITIONALMACROS_H
#define CUEJACK_CONDITIONALMACROS_H

#include "AvailabilityMacros.h"
#include "TargetConditionals.h"

#define UNIVERSAL_INTERFACES_VERSION 0x0400

#define TARGET_API_MAC_OS8    0
#define TARGET_API_MAC_CARBON 0
#define TARGET_API_MAC_OSX    0
#define TARGET_CARBON         0

#define PRAGMA_ONCE         1
#define PRAGMA_STRUCT_ALIGN 0
#define PRAGMA_IMPORT       0
#define TYPE_BOOL           1
#define TYPE_EXTENDED       0
#define TYPE_LONGLONG       1
#define FUNCTION_PASCAL     0
#define FUNCTION_DECLSPEC   0

#ifdef __cplusplus
#define EXTERN_API_C(type) extern "C" type
#else
#define EXTERN_API_C(type) extern type
#endif
#define EXTERN_API(type)           EXTERN_API_C(type)
#define DEFINE_API(type)           type
#define DEFINE_API_C(type)         type
#define CALLBACK_API(type, name)   type(*name)
#define CALLBACK_API_C(type, name) type(*name)
#define STACK_UPP_TYPE(name)       name
#define REGISTER_UPP_TYPE(name)    name
#define TVECTOR_UPP_TYPE(name)     name
#ifndef pascal
#define pascal
#endif

#endif
