public import CAudioToolbox
import Codecs
import System

/// Runs the body of a C function with a converter, once the calls of other threads on it have returned or wait for
/// their input.
private func withConverter(
  _ handle: AudioConverterRef, _ function: String, needs pointers: UnsafeRawPointer?...,
  body: (AudioConverterCore) throws(AudioConverterError) -> Void
) -> OSStatus {
  answer(function) { () throws(AudioConverterError) in
    if unsafe hasNull(pointers) { throw .badArgument("a pointer is NULL") }
    guard let core = AudioConverterCore.all.object(UInt(bitPattern: handle)) else {
      throw .noConverter
    }
    core.access.lock()
    defer { core.access.unlock() }
    try body(core)
  }
}

// MARK: Creation and disposal

/// See AudioConverterNew in AudioConverter.h.
@c @implementation
public func AudioConverterNew(
  _ inSourceFormat: UnsafePointer<AudioStreamBasicDescription>,
  _ inDestinationFormat: UnsafePointer<AudioStreamBasicDescription>,
  _ outAudioConverter: UnsafeMutablePointer<AudioConverterRef?>
) -> OSStatus {
  unsafe answer(
    "AudioConverterNew", needs: inSourceFormat, inDestinationFormat, outAudioConverter
  ) { () throws(AudioConverterError) in
    try unsafe make(inSourceFormat.pointee, inDestinationFormat.pointee, outAudioConverter)
  }
}

/// See AudioConverterNewSpecific in AudioConverter.h.
@c @implementation
public func AudioConverterNewSpecific(
  _ inSourceFormat: UnsafePointer<AudioStreamBasicDescription>,
  _ inDestinationFormat: UnsafePointer<AudioStreamBasicDescription>,
  _ inNumberClassDescriptions: UInt32,
  _ inClassDescriptions: UnsafePointer<AudioClassDescription>,
  _ outAudioConverter: UnsafeMutablePointer<AudioConverterRef?>
) -> OSStatus {
  unsafe answer(
    "AudioConverterNewSpecific", needs: inSourceFormat, inDestinationFormat, outAudioConverter
  ) { () throws(AudioConverterError) in
    unsafe outAudioConverter.pointee = nil
    let count = Int(inNumberClassDescriptions)
    if count > 0, UInt(bitPattern: inClassDescriptions) == 0 {
      throw .badArgument("the codecs are NULL")
    }
    let (source, destination) = unsafe (inSourceFormat.pointee, inDestinationFormat.pointee)
    let isGiven = unsafe UnsafeBufferPointer(start: inClassDescriptions, count: count).contains {
      $0.isOurs(from: source.mFormatID, to: destination.mFormatID)
    }
    guard isGiven || count == 0 else {
      throw .formatNotSupported("none of the codecs that are asked for is here")
    }
    try unsafe make(source, destination, outAudioConverter)
  }
}

extension AudioClassDescription {
  /// Returns true if the description names a codec of this library for one of the formats.
  fileprivate func isOurs(from source: AudioFormatID, to destination: AudioFormatID) -> Bool {
    guard [0, kAppleSoftwareAudioCodecManufacturer].contains(mManufacturer) else { return false }
    return mType == kAudioEncoderComponentType && mSubType == destination
      || mType == kAudioDecoderComponentType && mSubType == source
  }
}

private func make(
  _ source: AudioStreamBasicDescription, _ destination: AudioStreamBasicDescription,
  _ out: UnsafeMutablePointer<AudioConverterRef?>
) throws(AudioConverterError) {
  try unsafe putHandle(in: out, of: AudioConverterCore.all) { () throws(AudioConverterError) in
    try AudioConverterCore(source, destination)
  }
}

/// See AudioConverterDispose in AudioConverter.h.
@c @implementation
public func AudioConverterDispose(_ inAudioConverter: AudioConverterRef) -> OSStatus {
  answer("AudioConverterDispose") { () throws(AudioConverterError) in
    guard AudioConverterCore.all.remove(UInt(bitPattern: inAudioConverter)) != nil else {
      throw .noConverter
    }
  }
}

/// See AudioConverterReset in AudioConverter.h.
@c @implementation
public func AudioConverterReset(_ inAudioConverter: AudioConverterRef) -> OSStatus {
  unsafe withConverter(inAudioConverter, "AudioConverterReset") {
    core throws(AudioConverterError) in try core.reset()
  }
}

// MARK: Properties

/// See AudioConverterGetPropertyInfo in AudioConverter.h.
@c @implementation
public func AudioConverterGetPropertyInfo(
  _ inAudioConverter: AudioConverterRef, _ inPropertyID: AudioConverterPropertyID,
  _ outSize: UnsafeMutablePointer<UInt32>?,
  _ outWritable: UnsafeMutablePointer<Bool>?
) -> OSStatus {
  unsafe withConverter(
    inAudioConverter, "AudioConverterGetPropertyInfo"
  ) { core throws(AudioConverterError) in
    let input = PropertyInput<AudioConverterError>(inPropertyID)
    guard let entry = AudioConverterProperty(core: core, input: input).entry() else {
      throw .unsupportedProperty(inPropertyID)
    }
    let size = try entry.presentSize(missing: .unsupportedProperty(inPropertyID))
    unsafe outSize?.pointee = UInt32(size)
    unsafe outWritable?.pointee = entry.write != nil
  }
}

/// See AudioConverterGetProperty in AudioConverter.h.
@c @implementation
public func AudioConverterGetProperty(
  _ inAudioConverter: AudioConverterRef, _ inPropertyID: AudioConverterPropertyID,
  _ ioPropertyDataSize: UnsafeMutablePointer<UInt32>, _ outPropertyData: UnsafeMutableRawPointer
) -> OSStatus {
  unsafe withConverter(
    inAudioConverter, "AudioConverterGetProperty", needs: ioPropertyDataSize, outPropertyData
  ) { core throws(AudioConverterError) in
    let input = unsafe PropertyInput<AudioConverterError>(
      inPropertyID, outPropertyData, ioPropertyDataSize.pointee)
    try unsafe input.copy(
      AudioConverterProperty(core: core, input: input).entry(), ioPropertyDataSize,
      missing: .unsupportedProperty(inPropertyID))
  }
}

/// See AudioConverterSetProperty in AudioConverter.h.
@c @implementation
public func AudioConverterSetProperty(
  _ inAudioConverter: AudioConverterRef, _ inPropertyID: AudioConverterPropertyID,
  _ inPropertyDataSize: UInt32, _ inPropertyData: UnsafeRawPointer
) -> OSStatus {
  unsafe withConverter(
    inAudioConverter, "AudioConverterSetProperty"
  ) { core throws(AudioConverterError) in
    let input = try unsafe PropertyInput<AudioConverterError>(
      inPropertyID, given: inPropertyData, inPropertyDataSize)
    guard let entry = AudioConverterProperty(core: core, input: input).entry() else {
      throw .unsupportedProperty(inPropertyID)
    }
    guard let write = entry.write else { throw .readOnly(inPropertyID) }
    try write()
  }
}

// MARK: Converting

/// See AudioConverterConvertBuffer in AudioConverter.h.
@c @implementation
public func AudioConverterConvertBuffer(
  _ inAudioConverter: AudioConverterRef, _ inInputDataSize: UInt32,
  _ inInputData: UnsafeRawPointer, _ ioOutputDataSize: UnsafeMutablePointer<UInt32>,
  _ outOutputData: UnsafeMutableRawPointer
) -> OSStatus {
  unsafe withConverter(
    inAudioConverter, "AudioConverterConvertBuffer", needs: inInputData, ioOutputDataSize,
    outOutputData
  ) { core throws(AudioConverterError) in
    guard core.stream.isImmediate else { throw .notImmediate }
    guard
      let from = unsafe core.input.samples(at: [UnsafeMutableRawPointer(mutating: inInputData)]),
      let to = unsafe core.output.samples(at: [outOutputData]), core.input.buffers == 1,
      core.output.buffers == 1
    else { throw .badArgument("a format is not interleaved") }
    let (frames, rest) = Int(inInputDataSize).quotientAndRemainder(dividingBy: from.bytesPerFrame)
    guard rest == 0 else { throw .inputSize("\(inInputDataSize) bytes are not whole frames") }
    let bytes = frames * to.bytesPerFrame
    guard unsafe bytes <= Int(ioOutputDataSize.pointee) else {
      throw .outputSize("the output has \(bytes) bytes")
    }
    try core.convertAtOnce(from, frames: frames, to: to)
    unsafe ioOutputDataSize.pointee = UInt32(bytes)
  }
}

/// See AudioConverterConvertComplexBuffer in AudioConverter.h.
@c @implementation
public func AudioConverterConvertComplexBuffer(
  _ inAudioConverter: AudioConverterRef, _ inNumberPCMFrames: UInt32,
  _ inInputData: UnsafePointer<AudioBufferList>,
  _ outOutputData: UnsafeMutablePointer<AudioBufferList>
) -> OSStatus {
  unsafe withConverter(
    inAudioConverter, "AudioConverterConvertComplexBuffer", needs: inInputData, outOutputData
  ) { core throws(AudioConverterError) in
    guard core.stream.isImmediate else { throw .notImmediate }
    let frames = Int(inNumberPCMFrames)
    let input = unsafe BufferList(UnsafeMutablePointer(mutating: inInputData))
    let output = unsafe BufferList(outOutputData)
    guard let from = core.input.samples(input) else {
      throw .badArgument("the input's buffers do not fit the format")
    }
    guard let to = core.output.samples(output) else {
      throw .badArgument("the output's buffers do not fit the format")
    }
    guard frames * from.bytesPerFrame <= input.leastBytes else {
      throw .inputSize("a buffer has \(input.leastBytes) bytes, not \(frames) frames")
    }
    guard frames * to.bytesPerFrame <= output.leastBytes else {
      throw .outputSize("a buffer has \(output.leastBytes) bytes: no room for \(frames) frames")
    }
    try core.convertAtOnce(from, frames: frames, to: to)
    output.setBytes(frames * to.bytesPerFrame)
  }
}

/// See AudioConverterFillComplexBuffer in AudioConverter.h.
@c @implementation
public func AudioConverterFillComplexBuffer(
  _ inAudioConverter: AudioConverterRef, _ inInputDataProc: AudioConverterComplexInputDataProc,
  _ inInputDataProcUserData: UnsafeMutableRawPointer?,
  _ ioOutputDataPacketSize: UnsafeMutablePointer<UInt32>,
  _ outOutputData: UnsafeMutablePointer<AudioBufferList>,
  _ outPacketDescription: UnsafeMutablePointer<AudioStreamPacketDescription>?
) -> OSStatus {
  unsafe withConverter(
    inAudioConverter, "AudioConverterFillComplexBuffer",
    needs: unsafeBitCast(inInputDataProc, to: UnsafeRawPointer?.self), ioOutputDataPacketSize,
    outOutputData
  ) { core throws(AudioConverterError) in
    let packets = unsafe Int(ioOutputDataPacketSize.pointee)
    unsafe ioOutputDataPacketSize.pointee = 0
    let list = unsafe BufferList(outOutputData)
    var sink = try core.sink(list, packets: packets)
    defer {
      unsafe ioOutputDataPacketSize.pointee = UInt32(sink.count)
      unsafe core.tell(sink, list, outPacketDescription)
    }
    try unsafe core.fill(&sink, inAudioConverter, inInputDataProc, inInputDataProcUserData)
  }
}

/// An app's callback for AudioConverterFillBuffer, and the size of the packets that it gives.
@safe
private struct PlainInput {
  let callback: AudioConverterInputDataProc
  let userData: UnsafeMutableRawPointer?
  let bytesPerPacket: UInt32
}

/// See AudioConverterFillBuffer in AudioConverter.h.
@c @implementation
public func AudioConverterFillBuffer(
  _ inAudioConverter: AudioConverterRef, _ inInputDataProc: AudioConverterInputDataProc,
  _ inInputDataProcUserData: UnsafeMutableRawPointer?,
  _ ioOutputDataSize: UnsafeMutablePointer<UInt32>, _ outOutputData: UnsafeMutableRawPointer
) -> OSStatus {
  unsafe withConverter(
    inAudioConverter, "AudioConverterFillBuffer",
    needs: unsafeBitCast(inInputDataProc, to: UnsafeRawPointer?.self), ioOutputDataSize,
    outOutputData
  ) { core throws(AudioConverterError) in
    let bytesPerPacket = core.output.bytesPerPacket
    guard core.input.bytesPerPacket > 0, bytesPerPacket > 0 else { throw .noDescriptions }
    guard core.input.buffers == 1, core.output.buffers == 1 else {
      throw .badArgument("a format is not interleaved")
    }
    let size = unsafe ioOutputDataSize.pointee
    unsafe ioOutputDataSize.pointee = 0
    let list = OwnedBufferList(
      buffers: 1, channelsPerBuffer: core.output.channelsPerBuffer)
    unsafe list.list.pointee.mBuffers.mData = outOutputData
    unsafe list.list.pointee.mBuffers.mDataByteSize = size
    var sink = try unsafe core.sink(BufferList(list.list), packets: Int(size) / bytesPerPacket)
    defer { unsafe ioOutputDataSize.pointee = UInt32(sink.count * bytesPerPacket) }
    var input = unsafe PlainInput(
      callback: inInputDataProc, userData: inInputDataProcUserData,
      bytesPerPacket: UInt32(core.input.bytesPerPacket))
    try unsafe withUnsafeMutablePointer(to: &input) { input throws(AudioConverterError) in
      try unsafe core.fill(
        &sink, inAudioConverter,
        { converter, packets, data, _, context in
          guard let input = unsafe context?.assumingMemoryBound(to: PlainInput.self).pointee else {
            return kAudio_ParamError
          }
          var bytes = unsafe packets.pointee.multipliedReportingOverflow(by: input.bytesPerPacket)
            .partialValue
          let status = unsafe input.callback(
            converter, &bytes, &data.pointee.mBuffers.mData, input.userData)
          unsafe data.pointee.mBuffers.mDataByteSize = bytes
          unsafe packets.pointee = bytes / input.bytesPerPacket
          return status
        }, input)
    }
  }
}
