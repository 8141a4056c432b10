public import CAudioToolbox
import CoreFoundation
import Glibc
import Synchronization
import System

// The functions of CarbonCore/Files.h, and those of AudioFile.h and ExtendedAudioFile.h that take an FSRef. The headers
// document each function. On Linux, Swift cannot declare a C function with a CFURL parameter, so some take a raw pointer.

/// The content of an FSRef. A path does not fit into its 80 bytes: this process keeps the paths, and a reference has
/// the number of one.
struct FileReference: BitwiseCopyable {
  static let mark: UInt64 = 0x6375_656a_4653_5265  // "cuejFSRe"

  var mark = Self.mark
  var number: UInt64
  var device: UInt64
  var inode: UInt64

  /// The absolute paths of all references. One that is asked for again is found again.
  private static let paths = Mutex<(list: [[UInt8]], numbers: [[UInt8]: Int])>(([], [:]))

  /// - Parameter path: A path, ended by a zero.
  /// - Returns: The reference and whether it is a folder; nil if nothing is there.
  static func make(_ path: UnsafePointer<CChar>) -> (FileReference, isFolder: Bool)? {
    var status = stat()
    guard let absolute = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(absolute) }
    guard unsafe stat(absolute, &status) == 0 else { return nil }
    let bytes = unsafe Array(UnsafeRawBufferPointer(start: absolute, count: strlen(absolute) + 1))
    let number = paths.withLock { paths in
      if let number = paths.numbers[bytes] { return number }
      paths.list.append(bytes)
      paths.numbers[bytes] = paths.list.count - 1
      return paths.list.count - 1
    }
    let reference = FileReference(
      number: UInt64(number), device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    return (reference, status.st_mode & S_IFMT == S_IFDIR)
  }

  /// Reads an FSRef. Nil if it is not one of ours.
  init?(_ ref: UnsafePointer<FSRef>) {
    self = unsafe UnsafeRawPointer(ref).loadUnaligned(as: FileReference.self)
    let count = Self.paths.withLock { $0.list.count }
    guard mark == Self.mark, number < count else { return nil }
  }

  private init(number: UInt64, device: UInt64, inode: UInt64) {
    (self.number, self.device, self.inode) = (number, device, inode)
  }

  func store(in ref: UnsafeMutablePointer<FSRef>) {
    unsafe ref.pointee = FSRef()
    unsafe UnsafeMutableRawPointer(ref).storeBytes(of: self, as: FileReference.self)
  }

  /// The absolute path, ended by a zero.
  var path: [UInt8] { Self.paths.withLock { $0.list[Int(number)] } }

  /// The URL of the file, or of a file in the folder.
  func url(of name: CFString? = nil) -> CueURL? {
    let bytes = path.dropLast()
    let url: CueURL? = unsafe CFURLCreateFromFileSystemRepresentation(
      nil, Array(bytes), bytes.count, name != nil)
    guard let name, let url else { return url }
    return CFURLCreateCopyAppendingPathComponent(nil, url, name._core, false)
  }
}

/// See FSPathMakeRef in CarbonCore/Files.h.
@c @implementation
public func FSPathMakeRef(
  _ path: UnsafePointer<UInt8>, _ ref: UnsafeMutablePointer<FSRef>,
  _ isDirectory: UnsafeMutablePointer<Bool>?
) -> OSStatus {
  if unsafe hasNull([UnsafeRawPointer(path), UnsafeRawPointer(ref)]) { return paramErr }
  let made = unsafe path.withMemoryRebound(to: CChar.self, capacity: 1) {
    unsafe FileReference.make($0)
  }
  guard let (reference, isFolder) = made else { return fnfErr }
  unsafe reference.store(in: ref)
  unsafe isDirectory?.pointee = isFolder
  return noErr
}

/// See FSRefMakePath in CarbonCore/Files.h.
@c @implementation
public func FSRefMakePath(
  _ ref: UnsafePointer<FSRef>, _ path: UnsafeMutablePointer<UInt8>, _ maxPathSize: UInt32
) -> OSStatus {
  guard unsafe !hasNull([UnsafeRawPointer(ref), UnsafeRawPointer(path)]),
    let reference = unsafe FileReference(ref)
  else {
    return paramErr
  }
  let bytes = reference.path
  guard bytes.count <= Int(maxPathSize) else { return memFullErr }
  guard unsafe access(bytes.map(CChar.init(bitPattern:)), F_OK) == 0 else { return fnfErr }
  unsafe path.update(from: bytes, count: bytes.count)
  return noErr
}

/// See FSCompareFSRefs in CarbonCore/Files.h.
@c @implementation
public func FSCompareFSRefs(_ ref1: UnsafePointer<FSRef>, _ ref2: UnsafePointer<FSRef>) -> OSErr {
  guard unsafe !hasNull([UnsafeRawPointer(ref1), UnsafeRawPointer(ref2)]),
    let one = unsafe FileReference(ref1),
    let other = unsafe FileReference(ref2)
  else { return OSErr(paramErr) }
  return (one.device, one.inode) == (other.device, other.inode) ? 0 : OSErr(errFSRefsDifferent)
}

/// See CFURLGetFSRef in CarbonCore/Files.h.
@c(CFURLGetFSRef)
public func reference(ofURL url: UnsafeRawPointer?, _ fsRef: UnsafeMutablePointer<FSRef>?) -> Bool {
  guard let fsRef = unsafe fsRef, let path = try? unsafe path(of: url) else { return false }
  guard let (reference, _) = unsafe FileReference.make(path.systemName) else { return false }
  unsafe reference.store(in: fsRef)
  return true
}

/// See CFURLCreateFromFSRef in CarbonCore/Files.h.
@c(CFURLCreateFromFSRef)
public func makeURL(
  _ allocator: UnsafeRawPointer?, of fsRef: UnsafePointer<FSRef>?
) -> UnsafeRawPointer? {
  guard let fsRef = unsafe fsRef, let url = unsafe FileReference(fsRef)?.url() else { return nil }
  return unsafe UnsafeRawPointer(Unmanaged.passRetained(url).toOpaque())
}

/// Calls a function with the URL of a reference.
private func withURL(
  _ ref: UnsafePointer<FSRef>?, _ name: UnsafeRawPointer? = nil,
  _ body: (UnsafeRawPointer) -> OSStatus
) -> OSStatus {
  guard let ref = unsafe ref, let reference = unsafe FileReference(ref) else {
    return paramErr
  }
  let name = unsafe name.map { unsafe Unmanaged<CFString>.fromOpaque($0).takeUnretainedValue() }
  guard let url = reference.url(of: name) else { return paramErr }
  return withExtendedLifetime(url) {
    unsafe body(UnsafeRawPointer(Unmanaged.passUnretained(url).toOpaque()))
  }
}

/// See AudioFileOpen in AudioFile.h.
@c(AudioFileOpen)
public func openAudioFile(
  reference: UnsafePointer<FSRef>?, _ inPermissions: Int8, _ inFileTypeHint: UInt32,
  _ outAudioFile: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
  unsafe withURL(reference) { url in
    unsafe openAudioFile(url, inPermissions, inFileTypeHint, outAudioFile)
  }
}

/// See AudioFileCreate in AudioFile.h.
@c(AudioFileCreate)
public func createAudioFile(
  folder: UnsafePointer<FSRef>?, _ inFileName: UnsafeRawPointer?, _ inFileType: UInt32,
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>?, _ inFlags: UInt32,
  _ outNewFileRef: UnsafeMutablePointer<FSRef>?,
  _ outAudioFile: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
  guard let name = unsafe inFileName else { return paramErr }
  return unsafe withURL(folder, name) { url in
    let status = unsafe createAudioFile(url, inFileType, inFormat, inFlags, outAudioFile)
    if status == noErr { _ = unsafe reference(ofURL: url, outNewFileRef) }
    return status
  }
}

/// See AudioFileInitialize in AudioFile.h.
@c(AudioFileInitialize)
public func emptyAudioFile(
  _ inFileRef: UnsafePointer<FSRef>?, _ inFileType: UInt32,
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>?, _ inFlags: UInt32,
  _ outAudioFile: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
  unsafe withURL(inFileRef) { url in
    let flags = AudioFileFlags(rawValue: inFlags).union(.eraseFile)
    return unsafe createAudioFile(url, inFileType, inFormat, flags.rawValue, outAudioFile)
  }
}

/// See ExtAudioFileOpen in ExtendedAudioFile.h.
@c(ExtAudioFileOpen)
public func openExtAudioFile(
  reference: UnsafePointer<FSRef>?, _ outExtAudioFile: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
  unsafe withURL(reference) { url in unsafe openExtAudioFile(url, outExtAudioFile) }
}

/// See ExtAudioFileCreateNew in ExtendedAudioFile.h.
@c(ExtAudioFileCreateNew)
public func createExtAudioFile(
  folder: UnsafePointer<FSRef>?, _ inFileName: UnsafeRawPointer?, _ inFileType: UInt32,
  _ inStreamDesc: UnsafePointer<AudioStreamBasicDescription>?,
  _ inChannelLayout: UnsafePointer<AudioChannelLayout>?,
  _ outExtAudioFile: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
  guard let name = unsafe inFileName else { return paramErr }
  return unsafe withURL(folder, name) { url in
    unsafe createExtAudioFile(url, inFileType, inStreamDesc, inChannelLayout, 0, outExtAudioFile)
  }
}
