// The C headers have the documentation.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import CAudioToolbox
public import Foundation

// Second versions of the functions that programs call with strings, URLs and collections, or that make them.

// MARK: Strings

public func CFStringGetLength(_ theString: CFString!) -> CFIndex {
  CFStringGetLength(theString._core)
}

public func CFStringGetCString(
  _ theString: CFString!, _ buffer: UnsafeMutablePointer<CChar>, _ bufferSize: CFIndex,
  _ encoding: CFStringEncoding
) -> Bool {
  unsafe CFStringGetCString(theString._core, buffer, bufferSize, encoding)
}

public func CFStringGetCStringPtr(
  _ theString: CFString!, _ encoding: CFStringEncoding
) -> UnsafePointer<CChar>? {
  unsafe CFStringGetCStringPtr(theString._core, encoding)
}

public func CFStringCompare(
  _ theString1: CFString!, _ theString2: CFString!, _ compareOptions: CFStringCompareFlags
) -> CFComparisonResult {
  CFStringCompare(theString1._core, theString2._core, compareOptions)
}

public func CFStringCreateWithCString(
  _ alloc: CFAllocator?, _ cStr: UnsafePointer<CChar>, _ encoding: CFStringEncoding
) -> CFString! {
  unsafe CFStringCreateWithCString(alloc, cStr, encoding)?._bridged
}

// MARK: URLs

public func CFURLCreateWithFileSystemPath(
  _ allocator: CFAllocator?, _ filePath: CFString!, _ pathStyle: CFURLPathStyle,
  _ isDirectory: Bool
) -> CFURL! {
  CFURLCreateWithFileSystemPath(allocator, filePath._core, pathStyle, isDirectory)?._bridged
}

public func CFURLCreateFromFileSystemRepresentation(
  _ allocator: CFAllocator?, _ buffer: UnsafePointer<UInt8>, _ bufLen: CFIndex,
  _ isDirectory: Bool
) -> CFURL! {
  unsafe CFURLCreateFromFileSystemRepresentation(allocator, buffer, bufLen, isDirectory)?._bridged
}

public func CFURLCreateWithString(
  _ allocator: CFAllocator?, _ URLString: CFString!, _ baseURL: CFURL?
) -> CFURL! {
  CFURLCreateWithString(allocator, URLString._core, baseURL?._core)?._bridged
}

public func CFURLGetString(_ anURL: CFURL!) -> CFString! { CFURLGetString(anURL._core)?._bridged }

public func CFURLCopyFileSystemPath(_ anURL: CFURL!, _ pathStyle: CFURLPathStyle) -> CFString! {
  CFURLCopyFileSystemPath(anURL._core, pathStyle)?._bridged
}

public func CFURLCopyLastPathComponent(_ url: CFURL!) -> CFString! {
  CFURLCopyLastPathComponent(url._core)?._bridged
}

public func CFURLCopyPathExtension(_ url: CFURL!) -> CFString! {
  CFURLCopyPathExtension(url._core)?._bridged
}

public func CFBundleCopyResourceURL(
  _ bundle: CFBundle!, _ resourceName: CFString!, _ resourceType: CFString?,
  _ subDirName: CFString?
) -> CFURL! {
  CFBundleCopyResourceURL(bundle, resourceName._core, resourceType?._core, subDirName?._core)?
    ._bridged
}

// MARK: Collections, data and numbers

public func CFArrayGetCount(_ theArray: CFArray!) -> CFIndex { CFArrayGetCount(theArray._core) }

public func CFArrayGetValueAtIndex(_ theArray: CFArray!, _ idx: CFIndex) -> UnsafeRawPointer! {
  unsafe CFArrayGetValueAtIndex(theArray._core, idx)
}

public func CFDictionaryGetCount(_ theDict: CFDictionary!) -> CFIndex {
  CFDictionaryGetCount(theDict._core)
}

public func CFDictionaryGetValue(
  _ theDict: CFDictionary!, _ key: UnsafeRawPointer!
) -> UnsafeRawPointer! {
  unsafe CFDictionaryGetValue(theDict._core, key)
}

public func CFDataGetLength(_ theData: CFData!) -> CFIndex { CFDataGetLength(theData._core) }

public func CFDataGetBytePtr(_ theData: CFData!) -> UnsafePointer<UInt8>! {
  unsafe CFDataGetBytePtr(theData._core)
}

public func CFNumberGetValue(
  _ number: CFNumber!, _ theType: CFNumberType, _ valuePtr: UnsafeMutableRawPointer!
) -> Bool {
  unsafe CFNumberGetValue(number._core, theType, valuePtr)
}
