public import CAudioToolbox
import CoreFoundation
import Logging
import RealTime

/// The reason why a system sound call fails. The text goes to the log, the code to the caller.
private enum SoundFailure: APIFailure {
  case badArgument(String)
  case noSuchSound(SystemSoundID)
  case file(String)
  case tooLong(seconds: Double)
  case unsupportedProperty(AudioServicesPropertyID)
  case wrongSpecifierSize(UInt32)
  case wrongSize(UInt32)

  var status: OSStatus {
    switch self {
    case .badArgument: kAudio_ParamError
    case .noSuchSound, .file: kAudioServicesSystemSoundUnspecifiedError
    case .tooLong: kAudioServicesSystemSoundExceededMaximumDurationError
    case .unsupportedProperty: kAudioServicesUnsupportedPropertyError
    case .wrongSpecifierSize: kAudioServicesBadSpecifierSizeError
    case .wrongSize: kAudioServicesBadPropertySizeError
    }
  }

  var reason: String {
    switch self {
    case .badArgument(let text), .file(let text): text
    case .noSuchSound(let id): "there is no system sound \(id)"
    case .tooLong(let seconds): "a system sound lasts 30 seconds at most, not \(seconds)"
    case .unsupportedProperty(let id): "there is no property '\(fourCharacters(id))'"
    case .wrongSpecifierSize(let size): "a SystemSoundID has 4 bytes, not \(size)"
    case .wrongSize(let size): "the value has 4 bytes, not \(size)"
    }
  }
}

// MARK: Sounds

/// Implements `AudioServicesCreateSystemSoundID`. A raw pointer replaces the CFURL, which Swift
/// cannot use in a function that it implements for C.
@c(AudioServicesCreateSystemSoundID)
public func createSystemSound(
  _ inFileURL: UnsafeRawPointer?, _ outSystemSoundID: UnsafeMutablePointer<SystemSoundID>?
) -> OSStatus {
  answer("AudioServicesCreateSystemSoundID") { () throws(SoundFailure) in
    guard let outSystemSoundID = unsafe outSystemSoundID else {
      throw .badArgument("there is nowhere to put the SystemSoundID")
    }
    unsafe outSystemSoundID.pointee = 0
    guard let inFileURL = unsafe inFileURL else { throw .badArgument("the URL is NULL") }
    unsafe outSystemSoundID.pointee = SystemSounds.shared.add(try sound(inFileURL))
  }
}

/// Decodes a whole file to floats.
private func sound(_ url: UnsafeRawPointer) throws(SoundFailure) -> SystemSounds.Sound {
  var opened: ExtAudioFileRef?
  guard unsafe openExtAudioFile(url, &opened) == noErr, let file = unsafe opened else {
    throw .file("the file cannot be opened")
  }
  defer { unsafe ExtAudioFileDispose(file) }
  var description = AudioStreamBasicDescription()
  var size = UInt32(MemoryLayout<AudioStreamBasicDescription>.size)
  var frames: Int64 = 0
  var frameSize = UInt32(MemoryLayout<Int64>.size)
  guard
    unsafe ExtAudioFileGetProperty(
      file, kExtAudioFileProperty_FileDataFormat, &size, &description) == noErr,
    unsafe ExtAudioFileGetProperty(
      file, kExtAudioFileProperty_FileLengthFrames, &frameSize, &frames) == noErr
  else { throw .file("the file does not tell what is in it") }
  let seconds = Double(frames) / description.mSampleRate
  guard seconds <= SystemSounds.maximumSeconds else { throw .tooLong(seconds: seconds) }
  let format = PCMFormat(
    sampleRate: description.mSampleRate, channels: Int(description.mChannelsPerFrame),
    kind: .float, bitsPerSample: 32)
  guard Int(frames) * format.bytesPerFrame <= 1 << 28 else {
    throw .file("its samples would take more than 256 MB")
  }
  var client = format.streamDescription
  guard
    unsafe ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, size, &client)
      == noErr
  else { throw .file("the sound cannot be decoded") }

  var bytes = [UInt8](repeating: 0, count: Int(frames) * format.bytesPerFrame)
  var done = 0
  while done < bytes.count {
    var count = UInt32(clamping: (bytes.count - done) / format.bytesPerFrame)
    let status = unsafe bytes.withUnsafeMutableBytes { memory in
      var list = unsafe AudioBufferList(
        mNumberBuffers: 1,
        mBuffers: AudioBuffer(
          mNumberChannels: UInt32(format.channels), mDataByteSize: UInt32(memory.count - done),
          mData: memory.baseAddress?.advanced(by: done)))
      return unsafe ExtAudioFileRead(file, &count, &list)
    }
    guard status == noErr else { throw .file("the sound cannot be decoded") }
    if count == 0 { break }
    done += Int(count) * format.bytesPerFrame
  }
  return SystemSounds.Sound(format: format, bytes: Array(bytes.prefix(done)))
}

/// Implements `AudioServicesDisposeSystemSoundID`.
@c @implementation
public func AudioServicesDisposeSystemSoundID(_ inSystemSoundID: SystemSoundID) -> OSStatus {
  answer("AudioServicesDisposeSystemSoundID") { () throws(SoundFailure) in
    guard SystemSounds.shared.remove(inSystemSoundID) else { throw .noSuchSound(inSystemSoundID) }
  }
}

/// The app's completion block, which may be called on any thread.
@safe
private struct CompletionBlock: @unchecked Sendable {
  let block: () -> Void
}

/// Implements `AudioServicesPlaySystemSoundWithCompletion`.
@c @implementation
public func AudioServicesPlaySystemSoundWithCompletion(
  _ inSystemSoundID: SystemSoundID, _ inCompletionBlock: (() -> Void)?
) {
  guard let block = inCompletionBlock.map({ CompletionBlock(block: $0) }) else {
    return SystemSounds.shared.play(inSystemSoundID, done: nil)
  }
  SystemSounds.shared.play(inSystemSoundID) { block.block() }
}

/// Implements `AudioServicesPlayAlertSoundWithCompletion`.
@c @implementation
public func AudioServicesPlayAlertSoundWithCompletion(
  _ inSystemSoundID: SystemSoundID, _ inCompletionBlock: (() -> Void)?
) {
  AudioServicesPlaySystemSoundWithCompletion(inSystemSoundID, inCompletionBlock)
}

/// Implements `AudioServicesPlaySystemSound`.
@c @implementation
public func AudioServicesPlaySystemSound(_ inSystemSoundID: SystemSoundID) {
  SystemSounds.shared.play(inSystemSoundID, done: nil)
}

/// Implements `AudioServicesPlayAlertSound`.
@c @implementation
public func AudioServicesPlayAlertSound(_ inSystemSoundID: SystemSoundID) {
  SystemSounds.shared.play(inSystemSoundID, done: nil)
}

// MARK: Completions

/// The app's completion function and its client data.
@safe
private struct CompletionProc: @unchecked Sendable {
  let function: AudioServicesSystemSoundCompletionProc
  let clientData: UnsafeMutableRawPointer?
}

/// Implements `AudioServicesAddSystemSoundCompletion`. Raw pointers replace the Core Foundation
/// references.
@c(AudioServicesAddSystemSoundCompletion)
public func addSystemSoundCompletion(
  _ inSystemSoundID: SystemSoundID, _ inRunLoop: UnsafeRawPointer?,
  _ inRunLoopMode: UnsafeRawPointer?,
  _ inCompletionRoutine: AudioServicesSystemSoundCompletionProc?,
  _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  answer("AudioServicesAddSystemSoundCompletion") { () throws(SoundFailure) in
    guard let function = unsafe inCompletionRoutine else {
      throw .badArgument("the function is NULL")
    }
    let loop = unsafe inRunLoop.map { unsafe Unmanaged<CFRunLoop>.fromOpaque($0) }
    let mode = unsafe inRunLoopMode.map { unsafe Unmanaged<CFString>.fromOpaque($0) }
    let proc = unsafe CompletionProc(function: function, clientData: inClientData)
    let completion = unsafe SoundCompletion(
      loop?.takeUnretainedValue() ?? CFRunLoopGetMain(),
      mode: mode?.takeUnretainedValue() ?? CFRunLoopMode.defaultMode.rawValue
    ) {
      unsafe proc.function(inSystemSoundID, proc.clientData)
    }
    guard SystemSounds.shared.setCompletion(inSystemSoundID, completion) else {
      throw .noSuchSound(inSystemSoundID)
    }
  }
}

/// Implements `AudioServicesRemoveSystemSoundCompletion`.
@c @implementation
public func AudioServicesRemoveSystemSoundCompletion(_ inSystemSoundID: SystemSoundID) {
  _ = SystemSounds.shared.setCompletion(inSystemSoundID, nil)
}

// MARK: Properties

/// Returns the sound that a property call refers to, and its settings. Other errors take precedence
/// over an unknown sound.
private func sound(
  _ id: AudioServicesPropertyID, _ size: UInt32, _ specifier: UnsafeRawPointer?
) throws(SoundFailure) -> (id: SystemSoundID, settings: SystemSounds.Settings) {
  guard
    [kAudioServicesPropertyIsUISound, kAudioServicesPropertyCompletePlaybackIfAppDies].contains(id)
  else { throw .unsupportedProperty(id) }
  guard size == 4 else { throw .wrongSpecifierSize(size) }
  guard let specifier = unsafe specifier else { throw .badArgument("the specifier is NULL") }
  let sound = unsafe specifier.loadUnaligned(as: SystemSoundID.self)
  guard let settings = SystemSounds.shared.settings(sound) else { throw .noSuchSound(sound) }
  return (sound, settings)
}

/// Implements `AudioServicesGetPropertyInfo`.
@c @implementation
public func AudioServicesGetPropertyInfo(
  _ inPropertyID: AudioServicesPropertyID, _ inSpecifierSize: UInt32,
  _ inSpecifier: UnsafeRawPointer?, _ outPropertyDataSize: UnsafeMutablePointer<UInt32>?,
  _ outWritable: UnsafeMutablePointer<Bool>?
) -> OSStatus {
  answer("AudioServicesGetPropertyInfo") { () throws(SoundFailure) in
    _ = try unsafe sound(inPropertyID, inSpecifierSize, inSpecifier)
    unsafe outPropertyDataSize?.pointee = 4
    unsafe outWritable?.pointee = true
  }
}

/// Implements `AudioServicesGetProperty`.
@c @implementation
public func AudioServicesGetProperty(
  _ inPropertyID: AudioServicesPropertyID, _ inSpecifierSize: UInt32,
  _ inSpecifier: UnsafeRawPointer?, _ ioPropertyDataSize: UnsafeMutablePointer<UInt32>,
  _ outPropertyData: UnsafeMutableRawPointer?
) -> OSStatus {
  answer("AudioServicesGetProperty") { () throws(SoundFailure) in
    let settings = try unsafe sound(inPropertyID, inSpecifierSize, inSpecifier).settings
    let room = unsafe UInt(bitPattern: ioPropertyDataSize) == 0 ? 0 : ioPropertyDataSize.pointee
    guard room >= 4 else { throw .wrongSize(room) }
    guard let memory = unsafe outPropertyData else {
      throw .badArgument("the value has nowhere to go")
    }
    let value =
      inPropertyID == kAudioServicesPropertyIsUISound
      ? settings.isOfInterface : settings.isAwaitedAtExit
    unsafe memory.storeBytes(of: value ? 1 : 0, as: UInt32.self)
    unsafe ioPropertyDataSize.pointee = 4
  }
}

/// Implements `AudioServicesSetProperty`.
@c @implementation
public func AudioServicesSetProperty(
  _ inPropertyID: AudioServicesPropertyID, _ inSpecifierSize: UInt32,
  _ inSpecifier: UnsafeRawPointer?, _ inPropertyDataSize: UInt32,
  _ inPropertyData: UnsafeRawPointer
) -> OSStatus {
  answer("AudioServicesSetProperty") { () throws(SoundFailure) in
    let id = try unsafe sound(inPropertyID, inSpecifierSize, inSpecifier).id
    guard inPropertyDataSize == 4 else { throw .wrongSize(inPropertyDataSize) }
    guard UInt(bitPattern: inPropertyData) != 0 else {
      throw .badArgument("the value is NULL")
    }
    let value = unsafe inPropertyData.loadUnaligned(as: UInt32.self) != 0
    let isThere = SystemSounds.shared.change(id) { settings in
      if inPropertyID == kAudioServicesPropertyIsUISound {
        settings.isOfInterface = value
      } else {
        settings.isAwaitedAtExit = value
      }
    }
    if !isThere { throw .noSuchSound(id) }
  }
}
