public import CoreFoundation
public import FoundationEssentials

// Linux has no toll-free bridging: where a program for Apple's systems says `url as CFURL`, it says
// `url.cfURL` here. The other casts have their counterparts below.

extension String {
  /// The text as a Core Foundation string, in place of `text as CFString`.
  ///
  /// ```swift
  /// var uid = "jack:studio".cfString
  /// AudioQueueSetProperty(
  ///   queue, kAudioQueueProperty_CurrentDevice, &uid, UInt32(MemoryLayout<CFString>.size))
  /// ```
  public var cfString: CFString {
    let units = Array(utf16)
    return unsafe CFStringCreateWithCharacters(nil, units, units.count)
  }
}

extension CFString {
  /// The text as a Swift string, in place of `text as String`. Halves of surrogate pairs become
  /// U+FFFD.
  ///
  /// ```swift
  /// let name = CFURLCopyLastPathComponent(url).string
  /// ```
  public var string: String {
    let length = CFStringGetLength(self)
    return unsafe withUnsafeTemporaryAllocation(of: UniChar.self, capacity: length) { units in
      guard let first = units.baseAddress else { return "" }
      unsafe CFStringGetCharacters(self, CFRange(location: 0, length: length), first)
      return unsafe String(decoding: units, as: UTF16.self)
    }
  }
}

extension URL {
  /// The URL as a Core Foundation URL, in place of `url as CFURL`.
  ///
  /// ```swift
  /// var file: AudioFileID?
  /// let status = AudioFileOpenURL(url.cfURL, .readPermission, 0, &file)
  /// ```
  public var cfURL: CFURL {
    // Bytes rather than a string: they need not be valid UTF-8 once percent signs are undone.
    let bytes = Array(relativeString.utf8)
    return unsafe CFURLCreateWithBytes(
      nil, bytes, bytes.count, CFStringBuiltInEncodings.UTF8.rawValue, baseURL?.absoluteURL.cfURL)
  }
}

extension CFURL {
  /// The URL as Foundation's type, in place of `url as URL`; nil if Foundation does not take what
  /// Core Foundation took for a URL.
  ///
  /// ```swift
  /// let isThere = (try? cfURL.url?.checkResourceIsReachable()) ?? false
  /// ```
  public var url: URL? {
    guard let text = CFURLGetString(self)?.string else { return nil }
    return URL(string: text, relativeTo: CFURLGetBaseURL(self)?.url)
  }
}

// Core Foundation's modes of run loops are plain strings here, and a type of their own there. These
// have code that names them in that type's way compile.
extension CFRunLoopMode {
  /// The mode that a run loop runs in if nothing else is asked for.
  public static var defaultMode: CFRunLoopMode { kCFRunLoopDefaultMode }
  /// All modes that were declared to be common.
  public static var commonModes: CFRunLoopMode { kCFRunLoopCommonModes }
  /// The mode as a string, which it is already.
  public var rawValue: CFString { self }
}
