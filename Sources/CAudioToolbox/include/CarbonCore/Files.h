// References to files, as programs pass them that were written before URLs were usual.
#ifndef CUEJACK_FILES_H
#define CUEJACK_FILES_H

#include "../CuejackBase.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// A reference to a file or folder that exists. A program may copy it. It is valid in the process
/// that made it, and follows neither renaming nor moving.
struct FSRef {
  UInt8 hidden[80];
};
typedef struct FSRef FSRef;
typedef FSRef *FSRefPtr;

/// Makes a reference to the file or folder at a path in bytes. Any thread that is not real time.
///
/// - isDirectory: receives whether it is a folder; may be NULL.
/// - Returns: fnfErr if nothing is there; paramErr.
extern OSStatus FSPathMakeRef(const UInt8 *path, FSRef *ref, Boolean *_Nullable isDirectory);

/// Copies the absolute path of a reference, ended by a zero, to a buffer of `maxPathSize` bytes.
/// Any thread that is not real time.
///
/// - Returns: fnfErr if the file is gone; paramErr if this is no reference; memFullErr if there is
/// no room.
extern OSStatus FSRefMakePath(const FSRef *ref, UInt8 *path, UInt32 maxPathSize);

/// Returns noErr if both refer to the same file, errFSRefsDifferent if not.
extern OSErr FSCompareFSRefs(const FSRef *ref1, const FSRef *ref2);

/// Makes a reference to the file of a URL. Returns false if nothing is there.
extern Boolean CFURLGetFSRef(CFURLRef url, FSRef *fsRef);

/// Returns the URL of a reference, which the caller releases, or NULL.
extern CFURLRef _Nullable CFURLCreateFromFSRef(CFAllocatorRef _Nullable allocator,
                                               const FSRef *fsRef) CF_RETURNS_RETAINED;

CF_EXTERN_C_END
CUE_HEADER_END

#endif
