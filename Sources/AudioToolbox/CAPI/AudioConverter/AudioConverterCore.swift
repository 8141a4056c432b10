import CAudioToolbox
package import Codecs
import RealTime
import System

/// The object behind an AudioConverterRef. C functions hold `access`, but for the time of the input callback, which may
/// call every function except the converting ones.
package final class AudioConverterCore: @unchecked Sendable {
  static let all = HandleTable<AudioConverterCore>()

  /// Held during the calls of C functions.
  let access = Lock()
  /// True while a call waits for its input callback.
  private var isCalling = false

  /// The formats in force. `wanted` is the output format as requested.
  package private(set) var input: ConverterFormat
  package private(set) var output: ConverterFormat
  private var wanted: ConverterFormat
  package private(set) var stream: StreamConverter
  private(set) var options: StreamConverter.Options

  /// The values of the settable properties.
  package var settings: Settings

  /// The data from the input callback that is not yet converted.
  private var given = StreamConverter.Source.nothing
  /// The number of resets and rebuilds, to detect that the callback has caused one.
  private var generation = 0
  /// The buffer list that is passed to the input callback.
  private let list: OwnedBufferList

  convenience init(
    _ source: AudioStreamBasicDescription, _ destination: AudioStreamBasicDescription
  ) throws(AudioConverterError) {
    var destination = destination
    if destination.mSampleRate == 0 { destination.mSampleRate = source.mSampleRate }
    if destination.mChannelsPerFrame == 0 {
      destination.mChannelsPerFrame = source.mChannelsPerFrame
    }
    guard let input = ConverterFormat(source) else {
      throw Self.refusal(of: source, "input", AudioConverterError.inputRate)
    }
    guard let output = ConverterFormat(destination) else {
      throw Self.refusal(of: destination, "output", AudioConverterError.outputRate)
    }
    try self.init(input, output)
  }

  /// Returns the error for a stream description that is not supported.
  private static func refusal(
    of description: AudioStreamBasicDescription, _ side: String,
    _ rateError: (Double) -> AudioConverterError
  ) -> AudioConverterError {
    let rate = description.mSampleRate
    if !rate.isFinite || rate < 1 || rate > 1_000_000 { return rateError(rate) }
    return .formatNotSupported("the \(side) is of no format that can be converted")
  }

  package init(
    _ input: ConverterFormat, _ output: ConverterFormat, _ settings: Settings = Settings()
  )
    throws(AudioConverterError)
  {
    self.settings = settings
    options = settings.options(inputs: input.stream.channels, outputs: output.stream.channels)
    stream = try Self.stream(input, output, options)
    self.input = ConverterFormat(stream.input, like: input)
    self.output = ConverterFormat(stream.output, like: output)
    wanted = output
    list = OwnedBufferList(buffers: input.buffers, channelsPerBuffer: input.channelsPerBuffer)
  }

  private static func stream(
    _ input: ConverterFormat, _ output: ConverterFormat, _ options: StreamConverter.Options
  ) throws(AudioConverterError) -> StreamConverter {
    do throws(StreamConverter.Failure) {
      return try StreamConverter(from: input.stream, to: output.stream, options)
    } catch {
      throw AudioConverterError(error)
    }
  }

  package func reset() throws(AudioConverterError) {
    given = .nothing
    generation += 1
    do throws(StreamConverter.Failure) { try stream.reset() } catch {
      throw AudioConverterError(error)
    }
  }

  /// Replaces the options. The stream begins again.
  func rebuild(_ options: StreamConverter.Options, _ wanted: ConverterFormat? = nil)
    throws(AudioConverterError)
  {
    let wanted = wanted ?? self.wanted
    stream = try Self.stream(input, wanted, options)
    input = ConverterFormat(stream.input, like: input)
    output = ConverterFormat(stream.output, like: wanted)
    self.wanted = wanted
    self.options = options
    given = .nothing
    generation += 1
  }

  /// Changes the format of the encoded packets.
  func changeEncoding(_ body: (inout PacketFormat) -> Void) throws(AudioConverterError) {
    guard case .packets(var format) = wanted.stream else { return }
    body(&format)
    try rebuild(options, ConverterFormat(.packets(format)))
  }

  /// Changes the channel mix from the next frame on. Returns false if it does not fit the channels.
  func setMix(_ mix: ChannelMix?) -> Bool {
    let inForce =
      mix ?? .first(of: input.stream.channels, to: output.stream.channels)
    guard stream.setMix(inForce) else { return false }
    options.mix = mix
    return true
  }

  // MARK: Converting

  /// Converts a complete buffer of linear PCM frames.
  func convertAtOnce(
    _ from: SampleBuffers, frames: Int, to: SampleBuffers
  ) throws(AudioConverterError) {
    if isCalling { throw .badArgument("another call waits for the input of this converter") }
    guard stream.isImmediate else { throw .notImmediate }
    var source = StreamConverter.Source.frames(from, count: frames)
    var sink = StreamConverter.Sink.frames(to, room: frames)
    try convert(&source, &sink)
  }

  private func convert(
    _ source: inout StreamConverter.Source, _ sink: inout StreamConverter.Sink
  ) throws(AudioConverterError) {
    do throws(StreamConverter.Failure) {
      try stream.convert(&source, into: &sink)
    } catch {
      throw AudioConverterError(error)
    }
  }

  /// Calls the input callback and converts until the output is full or the stream has ended. On
  /// return `sink` tells how much was converted, even after a failure.
  func fill(
    _ sink: inout StreamConverter.Sink, _ handle: AudioConverterRef,
    _ callback: AudioConverterComplexInputDataProc, _ userData: UnsafeMutableRawPointer?
  ) throws(AudioConverterError) {
    if isCalling { throw .badArgument("another call waits for the input of this converter") }
    // An immediate conversion holds no frames back, so input may follow an end of the stream.
    if stream.isImmediate && given.isLast { given = .nothing }
    while true {
      try convert(&given, &sink)
      if sink.isFull || given.isLast { return }
      let generation = generation
      let next = try unsafe call(
        callback, handle, userData, packets: stream.inputCount(forOutput: sink.room))
      // A reset in the callback discards the data that it returns.
      if generation == self.generation { given = next }
    }
  }

  private func call(
    _ callback: AudioConverterComplexInputDataProc, _ handle: AudioConverterRef,
    _ userData: UnsafeMutableRawPointer?, packets wanted: Int
  ) throws(AudioConverterError) -> StreamConverter.Source {
    var packets = UInt32(clamping: wanted)
    var descriptions: UnsafeMutablePointer<AudioStreamPacketDescription>?
    list.clear()
    let isVariable = input.bytesPerPacket == 0
    isCalling = true
    access.unlock()
    let status =
      if isVariable {
        unsafe callback(handle, &packets, list.list, &descriptions, userData)
      } else {
        unsafe callback(handle, &packets, list.list, nil, userData)
      }
    access.lock()
    isCalling = false
    guard status == noErr else { throw .input(status) }
    guard packets > 0 else { return .end }
    let buffers = unsafe BufferList(list.list)
    guard buffers.count == input.buffers else {
      throw .inputSize("there are \(buffers.count) buffers, not \(input.buffers)")
    }
    // Bytes count: a callback may leave the number of packets as it was.
    if buffers.leastBytes == 0 { return .end }
    switch input.stream {
    case .pcm:
      let frames = min(Int(packets), buffers.leastBytes / input.bytesPerPacket)
      guard frames > 0 else { throw .inputSize("the buffers hold no whole frame") }
      guard let samples = input.samples(buffers) else {
        throw .inputSize("the buffers do not fit the format")
      }
      return .frames(samples, count: frames)
    case .packets:
      guard let memory = unsafe input.packets(buffers) else {
        throw .inputSize("the buffer is nowhere")
      }
      let bytesPerPacket = input.bytesPerPacket
      if bytesPerPacket > 0 {
        let count = min(Int(packets), memory.count / bytesPerPacket)
        guard count > 0 else { throw .inputSize("the buffer holds no whole packet") }
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: memory[..<(count * bytesPerPacket)])
        return unsafe .packets(bytes, bytesPerPacket: bytesPerPacket)
      }
      let extents = try unsafe extents(descriptions, Int(packets), bytes: memory.count)
      return unsafe .packets(UnsafeRawBufferPointer(memory), extents)
    }
  }

  /// Returns the extents of the packets. A single packet needs no description: it fills the buffer.
  private func extents(
    _ descriptions: UnsafePointer<AudioStreamPacketDescription>?, _ packets: Int, bytes: Int
  ) throws(AudioConverterError) -> [PacketExtent] {
    guard let descriptions = unsafe descriptions else {
      guard packets == 1 else { throw .noDescriptions }
      return [PacketExtent(offset: 0, bytes: bytes)]
    }
    var extents: [PacketExtent] = []
    for index in 0..<packets {
      let one = unsafe descriptions[index]
      guard one.mStartOffset >= 0, one.mStartOffset <= bytes,
        Int(one.mDataByteSize) <= bytes - Int(one.mStartOffset)
      else { throw .inputSize("packet \(index) does not lie in the \(bytes) bytes") }
      extents.append(
        PacketExtent(
          offset: Int(one.mStartOffset), bytes: Int(one.mDataByteSize),
          frames: Int(one.mVariableFramesInPacket)))
    }
    return extents
  }

  // MARK: The app's memory

  /// Returns the destination for output packets.
  func sink(_ list: BufferList, packets: Int) throws(AudioConverterError) -> StreamConverter.Sink {
    switch output.stream {
    case .pcm:
      guard let samples = output.samples(list) else {
        throw .badArgument("the output's buffers do not fit the format")
      }
      let room = min(packets, list.leastBytes / samples.bytesPerFrame)
      guard room > 0 || packets == 0 else { throw .outputSize("there is no room for a frame") }
      return .frames(samples, room: room)
    case .packets:
      guard let memory = unsafe output.packets(list) else {
        throw .badArgument("the output's buffers do not fit the format")
      }
      return unsafe .packets(memory, room: packets)
    }
  }

  /// Sets the sizes of the app's buffers and its packet descriptions.
  func tell(
    _ sink: StreamConverter.Sink, _ list: BufferList,
    _ descriptions: UnsafeMutablePointer<AudioStreamPacketDescription>?
  ) {
    guard case .packets = output.stream else {
      return list.setBytes(sink.count * output.bytesPerPacket)
    }
    list.setBytes(sink.bytes)
    guard let descriptions = unsafe descriptions else { return }
    for (index, extent) in sink.extents.enumerated() {
      unsafe descriptions[index] = AudioStreamPacketDescription(
        mStartOffset: Int64(extent.offset), mVariableFramesInPacket: UInt32(extent.frames),
        mDataByteSize: UInt32(extent.bytes))
    }
  }
}
