// Macros that test conditions. `check` only tells, `verify` also evaluates where nothing is told,
// and `require` jumps to a label. Those ending in `noErr` test a result code for 0, those beginning
// with `n` the opposite of the condition; `Action` runs statements first, `String` adds a text,
// `Quiet` tells nothing.
//
// A condition that does not hold is told on standard error, unless NDEBUG is defined or
// DEBUG_ASSERT_PRODUCTION_CODE is not 0. A program may define DEBUG_ASSERT_MESSAGE to tell it in
// another way. The short names, such as `check` and `require_noerr`, are there unless
// __ASSERT_MACROS_DEFINE_VERSIONS_WITHOUT_UNDERSCORES is 0.
#ifndef CUEJACK_ASSERTMACROS_H
#define CUEJACK_ASSERTMACROS_H

#include <stdio.h>

#ifndef DEBUG_ASSERT_PRODUCTION_CODE
#ifdef NDEBUG
#define DEBUG_ASSERT_PRODUCTION_CODE 1
#else
#define DEBUG_ASSERT_PRODUCTION_CODE 0
#endif
#endif

#ifndef DEBUG_ASSERT_COMPONENT_NAME_STRING
#define DEBUG_ASSERT_COMPONENT_NAME_STRING ""
#endif

#ifndef DEBUG_ASSERT_MESSAGE
#define DEBUG_ASSERT_MESSAGE(component, assertion, label, error, file, line, code)                 \
  fprintf(stderr, "%s%sAssertion failed: %s%s%s, %s:%d, error %ld\n", component,                   \
          *(component) ? ": " : "", assertion, *(error) ? ", " : "", error, file, (int)(line),     \
          (long)(code))
#endif

#if DEBUG_ASSERT_PRODUCTION_CODE
#define CUE_ASSERT_TELL(assertion, label, text, code) ((void)0)
#else
#define CUE_ASSERT_TELL(assertion, label, text, code)                                              \
  DEBUG_ASSERT_MESSAGE(DEBUG_ASSERT_COMPONENT_NAME_STRING, assertion, label, text, __FILE__,       \
                       __LINE__, code)
#endif

#define CUE_ASSERT_FAILS(condition) __builtin_expect(!(condition), 0)

// Every macro below is one of these three.
#define CUE_ASSERT_VERIFY(condition, name, text, code, action)                                     \
  do {                                                                                             \
    if (CUE_ASSERT_FAILS(condition)) {                                                             \
      CUE_ASSERT_TELL(name, "", text, code);                                                       \
      action;                                                                                      \
    }                                                                                              \
  } while (0)
#define CUE_ASSERT_REQUIRE(condition, name, label, text, code, action)                             \
  do {                                                                                             \
    if (CUE_ASSERT_FAILS(condition)) {                                                             \
      CUE_ASSERT_TELL(name, #label, text, code);                                                   \
      { action; }                                                                                  \
      goto label;                                                                                  \
    }                                                                                              \
  } while (0)
#define CUE_ASSERT_QUIET(condition, label, action)                                                 \
  do {                                                                                             \
    if (CUE_ASSERT_FAILS(condition)) {                                                             \
      { action; }                                                                                  \
      goto label;                                                                                  \
    }                                                                                              \
  } while (0)
// The same for a result code, which is evaluated once.
#define CUE_ASSERT_VERIFY_NOERR(result, name, text, action)                                        \
  do {                                                                                             \
    long cue_assert_code = (long)(result);                                                         \
    CUE_ASSERT_VERIFY(cue_assert_code == 0, name, text, cue_assert_code, action);                  \
  } while (0)
#define CUE_ASSERT_REQUIRE_NOERR(result, name, label, text, action)                                \
  do {                                                                                             \
    long cue_assert_code = (long)(result);                                                         \
    CUE_ASSERT_REQUIRE(cue_assert_code == 0, name, label, text, cue_assert_code, action);          \
  } while (0)

#if DEBUG_ASSERT_PRODUCTION_CODE
#define __Check(condition)                 ((void)0)
#define __Check_String(condition, text)    ((void)0)
#define __Check_noErr(result)              ((void)0)
#define __Check_noErr_String(result, text) ((void)0)
#define __nCheck(condition)                ((void)0)
#define __nCheck_String(condition, text)   ((void)0)
#else
#define __Check(condition)                 __Verify(condition)
#define __Check_String(condition, text)    __Verify_String(condition, text)
#define __Check_noErr(result)              __Verify_noErr(result)
#define __Check_noErr_String(result, text) __Verify_noErr_String(result, text)
#define __nCheck(condition)                __nVerify(condition)
#define __nCheck_String(condition, text)   __nVerify_String(condition, text)
#endif

#define __Verify(condition)                   CUE_ASSERT_VERIFY(condition, #condition, "", 0, (void)0)
#define __Verify_String(condition, text)      CUE_ASSERT_VERIFY(condition, #condition, text, 0, (void)0)
#define __Verify_Action(condition, action)    CUE_ASSERT_VERIFY(condition, #condition, "", 0, action)
#define __nVerify(condition)                  __Verify(!(condition))
#define __nVerify_String(condition, text)     __Verify_String(!(condition), text)
#define __Verify_noErr(result)                CUE_ASSERT_VERIFY_NOERR(result, #result, "", (void)0)
#define __Verify_noErr_String(result, text)   CUE_ASSERT_VERIFY_NOERR(result, #result, text, (void)0)
#define __Verify_noErr_Action(result, action) CUE_ASSERT_VERIFY_NOERR(result, #result, "", action)

#define __Require(condition, label) CUE_ASSERT_REQUIRE(condition, #condition, label, "", 0, (void)0)
#define __Require_Action(condition, label, action)                                                 \
  CUE_ASSERT_REQUIRE(condition, #condition, label, "", 0, action)
#define __Require_String(condition, label, text)                                                   \
  CUE_ASSERT_REQUIRE(condition, #condition, label, text, 0, (void)0)
#define __Require_Action_String(condition, label, action, text)                                    \
  CUE_ASSERT_REQUIRE(condition, #condition, label, text, 0, action)
#define __Require_Quiet(condition, label)                CUE_ASSERT_QUIET(condition, label, (void)0)
#define __Require_Action_Quiet(condition, label, action) CUE_ASSERT_QUIET(condition, label, action)
#define __nRequire(condition, label)                     __Require(!(condition), label)
#define __nRequire_Action(condition, label, action)      __Require_Action(!(condition), label, action)
#define __nRequire_String(condition, label, text)        __Require_String(!(condition), label, text)
#define __nRequire_Action_String(condition, label, action, text)                                   \
  __Require_Action_String(!(condition), label, action, text)
#define __nRequire_Quiet(condition, label) __Require_Quiet(!(condition), label)
#define __nRequire_Action_Quiet(condition, label, action)                                          \
  __Require_Action_Quiet(!(condition), label, action)
#define __Require_noErr(result, label) CUE_ASSERT_REQUIRE_NOERR(result, #result, label, "", (void)0)
#define __Require_noErr_Action(result, label, action)                                              \
  CUE_ASSERT_REQUIRE_NOERR(result, #result, label, "", action)
#define __Require_noErr_String(result, label, text)                                                \
  CUE_ASSERT_REQUIRE_NOERR(result, #result, label, text, (void)0)
#define __Require_noErr_Action_String(result, label, action, text)                                 \
  CUE_ASSERT_REQUIRE_NOERR(result, #result, label, text, action)
#define __Require_noErr_Quiet(result, label) __Require_Quiet((result) == 0, label)
#define __Require_noErr_Action_Quiet(result, label, action)                                        \
  __Require_Action_Quiet((result) == 0, label, action)

#ifndef __ASSERT_MACROS_DEFINE_VERSIONS_WITHOUT_UNDERSCORES
#define __ASSERT_MACROS_DEFINE_VERSIONS_WITHOUT_UNDERSCORES 1
#endif

#if __ASSERT_MACROS_DEFINE_VERSIONS_WITHOUT_UNDERSCORES
#ifndef check
#define check __Check
#endif
#ifndef check_string
#define check_string __Check_String
#endif
#ifndef check_noerr
#define check_noerr __Check_noErr
#endif
#ifndef check_noerr_string
#define check_noerr_string __Check_noErr_String
#endif
#ifndef ncheck
#define ncheck __nCheck
#endif
#ifndef ncheck_string
#define ncheck_string __nCheck_String
#endif
#ifndef verify
#define verify __Verify
#endif
#ifndef verify_string
#define verify_string __Verify_String
#endif
#ifndef verify_action
#define verify_action __Verify_Action
#endif
#ifndef verify_noerr
#define verify_noerr __Verify_noErr
#endif
#ifndef verify_noerr_string
#define verify_noerr_string __Verify_noErr_String
#endif
#ifndef verify_noerr_action
#define verify_noerr_action __Verify_noErr_Action
#endif
#ifndef nverify
#define nverify __nVerify
#endif
#ifndef nverify_string
#define nverify_string __nVerify_String
#endif
#ifndef require
#define require __Require
#endif
#ifndef require_action
#define require_action __Require_Action
#endif
#ifndef require_string
#define require_string __Require_String
#endif
#ifndef require_action_string
#define require_action_string __Require_Action_String
#endif
#ifndef require_quiet
#define require_quiet __Require_Quiet
#endif
#ifndef require_action_quiet
#define require_action_quiet __Require_Action_Quiet
#endif
#ifndef nrequire
#define nrequire __nRequire
#endif
#ifndef nrequire_action
#define nrequire_action __nRequire_Action
#endif
#ifndef nrequire_string
#define nrequire_string __nRequire_String
#endif
#ifndef nrequire_action_string
#define nrequire_action_string __nRequire_Action_String
#endif
#ifndef nrequire_quiet
#define nrequire_quiet __nRequire_Quiet
#endif
#ifndef nrequire_action_quiet
#define nrequire_action_quiet __nRequire_Action_Quiet
#endif
#ifndef require_noerr
#define require_noerr __Require_noErr
#endif
#ifndef require_noerr_action
#define require_noerr_action __Require_noErr_Action
#endif
#ifndef require_noerr_string
#define require_noerr_string __Require_noErr_String
#endif
#ifndef require_noerr_action_string
#define require_noerr_action_string __Require_noErr_Action_String
#endif
#ifndef require_noerr_quiet
#define require_noerr_quiet __Require_noErr_Quiet
#endif
#ifndef require_noerr_action_quiet
#define require_noerr_action_quiet __Require_noErr_Action_Quiet
#endif
#endif

#endif
