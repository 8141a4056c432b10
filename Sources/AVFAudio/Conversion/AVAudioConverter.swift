import AudioToolbox
import Codecs
public import Foundation
import Logging
import RealTime
import System

/// A converter between formats: samples, rate, channels, codecs. Any thread, one at a time; not real time.
open class AVAudioConverter: NSObject, @unchecked Sendable {
  /// The format of the input.
  public let inputFormat: AVAudioFormat
  /// The format of the output.
  public let outputFormat: AVAudioFormat
  private let core: AudioConverterCore
  /// The input that is not yet converted, and the buffer that holds it.
  private var source = StreamConverter.Source.nothing
  private var held: AVAudioBuffer?
  /// True if the input block has said that the stream has ended.
  private var hasEnded = false

  /// Creates a converter; nil if there is none between the formats.
  public init?(from fromFormat: AVAudioFormat, to toFormat: AVAudioFormat) {
    guard let input = fromFormat.format, let output = toFormat.format else { return nil }
    var settings = AudioConverterCore.Settings()
    settings.inputLayout = fromFormat.tellingLayout
    settings.outputLayout = toFormat.tellingLayout
    settings.cookie = fromFormat.magicCookie.map { [UInt8]($0) } ?? []
    settings.channelMap = Self.firstMap(input.stream.channels, output.stream.channels)
    guard let core = try? AudioConverterCore(input, output, settings) else { return nil }
    self.core = core
    inputFormat = fromFormat
    outputFormat = toFormat
  }

  /// Returns the channel map to begin with: nil for channels in order, or the only channel for both of two.
  static func firstMap(_ inputs: Int, _ outputs: Int) -> [Int32]? {
    inputs == 1 && outputs == 2 ? [0, 0] : nil
  }

  /// Forgets the stream. The next conversion begins another one.
  public func reset() {
    forget()
    do { try core.reset() } catch { log.error("AVAudioConverter.reset: \(error.reason)") }
  }

  private func forget() {
    (source, held, hasEnded) = (.nothing, nil, false)
  }

  /// Changes settings. Settings that cannot be are told in the log, and leave those in force.
  func change(_ property: String, _ body: (inout AudioConverterCore.Settings) -> Void) {
    let stream = core.stream
    do {
      try core.change(body)
    } catch {
      log.warning("AVAudioConverter.\(property): \(error.reason)")
    }
    // Another converter of streams begins another stream.
    if core.stream !== stream { forget() }
  }

  var settings: AudioConverterCore.Settings { core.settings }
  var encoder: PacketEncoder? { core.stream.encoder }
  var inputs: Int { core.input.stream.channels }
  var outputs: Int { core.output.stream.channels }
  var channelMapInForce: [Int32] { core.channelMap }
  var decodes: Bool { if case .packets = core.input.stream { true } else { false } }

  /// The size in bytes of the largest packet of an encoder.
  public var maximumOutputPacketSize: Int { core.maximumOutputPacketBytes }

  /// The frames that prime the conversion: those of an encoder, or what was set.
  public var primeInfo: AVAudioConverterPrimeInfo {
    get {
      let info = core.primeInfo
      return AVAudioConverterPrimeInfo(
        leadingFrames: info.leadingFrames, trailingFrames: info.trailingFrames)
    }
    set {
      do {
        try core.setPrimeInfo(
          AudioConverterPrimeInfo(
            leadingFrames: newValue.leadingFrames, trailingFrames: newValue.trailingFrames))
        forget()
      } catch {
        log.warning("AVAudioConverter.primeInfo: \(error.reason)")
      }
    }
  }

  // MARK: Converting

  private func failure(_ error: AudioConverterError) -> NSError {
    NSError(NSOSStatusErrorDomain, error.status, "AVAudioConverter.convert: \(error.reason)")
  }

  /// Converts the frames of a buffer of linear PCM.
  ///
  /// - Throws: For other formats, for other rates, and if the output has no room.
  public func convert(to outputBuffer: AVAudioPCMBuffer, from inputBuffer: AVAudioPCMBuffer) throws
  {
    do throws(AudioConverterError) {
      outputBuffer.frameLength = 0
      guard core.stream.isImmediate else {
        throw .badArgument("the rates or the codecs differ: use the form with an input block")
      }
      guard inputBuffer.frameLength <= outputBuffer.frameCapacity else {
        throw .badArgument(
          "\(inputBuffer.frameLength) frames do not fit a capacity of \(outputBuffer.frameCapacity)"
        )
      }
      var (input, sink) = (try source(of: inputBuffer), try sink(in: outputBuffer))
      try convert(&input, &sink)
      outputBuffer.frameLength = AVAudioFrameCount(sink.count)
    } catch {
      throw failure(error)
    }
  }

  /// Fills a buffer with what the input block gives. Input that is not used up is used by the next call: the block's
  /// buffer must stay as it is until the block is called again, or the converter is reset.
  ///
  /// - Returns: After the end of the stream, `haveData` for what is left of it, then `endOfStream` until `reset()`.
  @discardableResult
  public func convert(
    to outputBuffer: AVAudioBuffer, error outError: NSErrorPointer,
    withInputFrom inputBlock: AVAudioConverterInputBlock
  ) -> AVAudioConverterOutputStatus {
    do throws(AudioConverterError) {
      var sink = try sink(in: outputBuffer)
      defer { show(sink, in: outputBuffer) }
      return try unsafe fill(&sink, inputBlock)
    } catch {
      unsafe outError?.pointee = failure(error)
      return .error
    }
  }

  private func fill(
    _ sink: inout StreamConverter.Sink, _ inputBlock: AVAudioConverterInputBlock
  ) throws(AudioConverterError) -> AVAudioConverterOutputStatus {
    while true {
      try convert(&source, &sink)
      if source.isEmpty { held = nil }
      if sink.isFull { return .haveData }
      if hasEnded { return sink.count > 0 ? .haveData : .endOfStream }
      var status = AVAudioConverterInputStatus.haveData
      let wanted = core.stream.inputCount(forOutput: sink.room)
      let buffer = unsafe inputBlock(AVAudioPacketCount(clamping: wanted), &status)
      switch status {
      case .haveData:
        guard let buffer else { return .inputRanDry }
        source = try source(of: buffer)
        held = buffer
        if source.isEmpty { return .inputRanDry }
      case .noDataNow: return .inputRanDry
      case .endOfStream:
        source = .end
        hasEnded = true
      }
    }
  }

  private func convert(
    _ source: inout StreamConverter.Source, _ sink: inout StreamConverter.Sink
  ) throws(AudioConverterError) {
    do throws(StreamConverter.Failure) {
      try core.stream.convert(&source, into: &sink)
    } catch {
      throw AudioConverterError(error)
    }
  }

  // MARK: Buffers

  private func source(of buffer: AVAudioBuffer) throws(AudioConverterError)
    -> StreamConverter.Source
  {
    guard buffer.format == inputFormat else {
      throw .badArgument("the input is of \(buffer.format), not of \(inputFormat)")
    }
    if let buffer = buffer as? AVAudioPCMBuffer, let samples = buffer.samples {
      return .frames(samples, count: Int(buffer.frameLength))
    }
    guard let buffer = buffer as? AVAudioCompressedBuffer else { return .nothing }
    return try buffer.source
  }

  private func sink(in buffer: AVAudioBuffer) throws(AudioConverterError) -> StreamConverter.Sink {
    guard buffer.format == outputFormat else {
      throw .badArgument("the output is of \(buffer.format), not of \(outputFormat)")
    }
    if let buffer = buffer as? AVAudioPCMBuffer, let samples = buffer.samples {
      return .frames(samples, room: Int(buffer.frameCapacity))
    }
    guard let buffer = buffer as? AVAudioCompressedBuffer else {
      throw .badArgument("the output is no buffer of \(outputFormat)")
    }
    return unsafe .packets(
      UnsafeMutableRawBufferPointer(start: buffer.data, count: Int(buffer.byteCapacity)),
      room: Int(buffer.packetCapacity))
  }

  private func show(_ sink: StreamConverter.Sink, in buffer: AVAudioBuffer) {
    switch buffer {
    case let buffer as AVAudioPCMBuffer: buffer.frameLength = AVAudioFrameCount(sink.count)
    case let buffer as AVAudioCompressedBuffer: buffer.show(sink)
    default: break
    }
  }
}
