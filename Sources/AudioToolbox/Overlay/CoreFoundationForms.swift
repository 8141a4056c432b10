// The C headers have the documentation.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import CAudioToolbox
public import CoreFoundation

// Second versions of the functions that take or give strings, URLs and dictionaries: for Foundation's classes, which
// programs write under the names of Core Foundation. The C headers document the functions. A version that takes a
// string or nil is disfavored, so that nil chooses the C function.

// MARK: Files

@discardableResult
public func AudioFileCreateWithURL(
  _ inFileRef: CFURL, _ inFileType: AudioFileTypeID,
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>, _ inFlags: AudioFileFlags,
  _ outAudioFile: UnsafeMutablePointer<AudioFileID?>
) -> OSStatus {
  unsafe AudioFileCreateWithURL(inFileRef._core, inFileType, inFormat, inFlags, outAudioFile)
}

@discardableResult
public func AudioFileOpenURL(
  _ inFileRef: CFURL, _ inPermissions: AudioFilePermissions, _ inFileTypeHint: AudioFileTypeID,
  _ outAudioFile: UnsafeMutablePointer<AudioFileID?>
) -> OSStatus {
  unsafe AudioFileOpenURL(inFileRef._core, inPermissions, inFileTypeHint, outAudioFile)
}

@discardableResult
public func ExtAudioFileOpenURL(
  _ inURL: CFURL, _ outExtAudioFile: UnsafeMutablePointer<ExtAudioFileRef?>
) -> OSStatus {
  unsafe ExtAudioFileOpenURL(inURL._core, outExtAudioFile)
}

@discardableResult
public func ExtAudioFileCreateWithURL(
  _ inURL: CFURL, _ inFileType: AudioFileTypeID,
  _ inStreamDesc: UnsafePointer<AudioStreamBasicDescription>,
  _ inChannelLayout: UnsafePointer<AudioChannelLayout>?, _ inFlags: UInt32,
  _ outExtAudioFile: UnsafeMutablePointer<ExtAudioFileRef?>
) -> OSStatus {
  unsafe ExtAudioFileCreateWithURL(
    inURL._core, inFileType, inStreamDesc, inChannelLayout, inFlags, outExtAudioFile)
}

@discardableResult
public func AudioServicesCreateSystemSoundID(
  _ inFileURL: CFURL, _ outSystemSoundID: UnsafeMutablePointer<SystemSoundID>
) -> OSStatus {
  unsafe AudioServicesCreateSystemSoundID(inFileURL._core, outSystemSoundID)
}

// MARK: Sequences

@discardableResult
public func MusicSequenceFileLoad(
  _ inSequence: MusicSequence, _ inFileRef: CFURL, _ inFileTypeHint: MusicSequenceFileTypeID,
  _ inFlags: MusicSequenceLoadFlags
) -> OSStatus {
  unsafe MusicSequenceFileLoad(inSequence, inFileRef._core, inFileTypeHint, inFlags)
}

@discardableResult
public func MusicSequenceFileLoadData(
  _ inSequence: MusicSequence, _ inData: CFData, _ inFileTypeHint: MusicSequenceFileTypeID,
  _ inFlags: MusicSequenceLoadFlags
) -> OSStatus {
  unsafe MusicSequenceFileLoadData(inSequence, inData._core, inFileTypeHint, inFlags)
}

@discardableResult
public func MusicSequenceFileCreate(
  _ inSequence: MusicSequence, _ inFileRef: CFURL, _ inFileType: MusicSequenceFileTypeID,
  _ inFlags: MusicSequenceFileFlags, _ inResolution: Int16
) -> OSStatus {
  unsafe MusicSequenceFileCreate(
    inSequence, inFileRef._core, inFileType, inFlags, inResolution)
}

@discardableResult
public func MusicSequenceFileCreateData(
  _ inSequence: MusicSequence, _ inFileType: MusicSequenceFileTypeID,
  _ inFlags: MusicSequenceFileFlags, _ inResolution: Int16,
  _ outData: UnsafeMutablePointer<Unmanaged<CFData>?>
) -> OSStatus {
  var data: Unmanaged<CueData>?
  let status = unsafe MusicSequenceFileCreateData(
    inSequence, inFileType, inFlags, inResolution, &data)
  unsafe outData.pointee = retyped(data)
  return status
}

// MARK: Components and devices

@discardableResult
public func AudioComponentCopyName(
  _ inComponent: AudioComponent, _ outName: UnsafeMutablePointer<Unmanaged<CFString>?>
) -> OSStatus {
  var name: Unmanaged<CueString>?
  let status = unsafe AudioComponentCopyName(inComponent, &name)
  unsafe outName.pointee = retyped(name)
  return status
}

@discardableResult
public func AudioComponentRegister(
  _ inDesc: UnsafePointer<AudioComponentDescription>, _ inName: CFString, _ inVersion: UInt32,
  _ inFactory: @escaping AudioComponentFactoryFunction
) -> AudioComponent? {
  unsafe AudioComponentRegister(inDesc, inName._core, inVersion, inFactory)
}

@discardableResult
public func AudioHardwareCreateAggregateDevice(
  _ inDescription: CFDictionary, _ outDeviceID: UnsafeMutablePointer<AudioObjectID>
) -> OSStatus {
  unsafe AudioHardwareCreateAggregateDevice(inDescription._core, outDeviceID)
}

// MARK: Run loop modes

@_disfavoredOverload @discardableResult
public func AudioQueueNewOutput(
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>,
  _ inCallbackProc: @escaping AudioQueueOutputCallback, _ inUserData: UnsafeMutableRawPointer?,
  _ inCallbackRunLoop: CFRunLoop?, _ inCallbackRunLoopMode: CFString?, _ inFlags: UInt32,
  _ outAQ: UnsafeMutablePointer<AudioQueueRef?>
) -> OSStatus {
  unsafe AudioQueueNewOutput(
    inFormat, inCallbackProc, inUserData, inCallbackRunLoop, inCallbackRunLoopMode?._core, inFlags,
    outAQ)
}

@_disfavoredOverload @discardableResult
public func AudioQueueNewInput(
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>,
  _ inCallbackProc: @escaping AudioQueueInputCallback, _ inUserData: UnsafeMutableRawPointer?,
  _ inCallbackRunLoop: CFRunLoop?, _ inCallbackRunLoopMode: CFString?, _ inFlags: UInt32,
  _ outAQ: UnsafeMutablePointer<AudioQueueRef?>
) -> OSStatus {
  unsafe AudioQueueNewInput(
    inFormat, inCallbackProc, inUserData, inCallbackRunLoop, inCallbackRunLoopMode?._core, inFlags,
    outAQ)
}

@_disfavoredOverload @discardableResult
public func AudioServicesAddSystemSoundCompletion(
  _ inSystemSoundID: SystemSoundID, _ inRunLoop: CFRunLoop?, _ inRunLoopMode: CFString?,
  _ inCompletionRoutine: @escaping AudioServicesSystemSoundCompletionProc,
  _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe AudioServicesAddSystemSoundCompletion(
    inSystemSoundID, inRunLoop, inRunLoopMode?._core, inCompletionRoutine, inClientData)
}

@_disfavoredOverload @discardableResult
public func AudioSessionInitialize(
  _ inRunLoop: CFRunLoop?, _ inRunLoopMode: CFString?,
  _ inInterruptionListener: AudioSessionInterruptionListener?,
  _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe AudioSessionInitialize(
    inRunLoop, inRunLoopMode?._core, inInterruptionListener, inClientData)
}

@_disfavoredOverload @discardableResult
public func AUListenerCreate(
  _ inProc: @escaping AUParameterListenerProc, _ inUserData: UnsafeMutableRawPointer?,
  _ inRunLoop: CFRunLoop?, _ inRunLoopMode: CFString?, _ inNotificationInterval: Float32,
  _ outListener: UnsafeMutablePointer<AUParameterListenerRef?>
) -> OSStatus {
  unsafe AUListenerCreate(
    inProc, inUserData, inRunLoop, inRunLoopMode?._core, inNotificationInterval, outListener)
}

@_disfavoredOverload @discardableResult
public func AUEventListenerCreate(
  _ inProc: @escaping AUEventListenerProc, _ inUserData: UnsafeMutableRawPointer?,
  _ inRunLoop: CFRunLoop?, _ inRunLoopMode: CFString?, _ inNotificationInterval: Float32,
  _ inValueChangeGranularity: Float32, _ outListener: UnsafeMutablePointer<AUEventListenerRef?>
) -> OSStatus {
  unsafe AUEventListenerCreate(
    inProc, inUserData, inRunLoop, inRunLoopMode?._core, inNotificationInterval,
    inValueChangeGranularity, outListener)
}
