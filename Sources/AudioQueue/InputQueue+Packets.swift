package import Codecs
import Logging
import RealTime

/// What is known of an encoder without waiting for it.
struct Encoding: Sendable {
  let format: PacketFormat
  let options: PacketEncoder.Options
  let bitRate: Int
  let maximumPacketBytes: Int
  /// What a decoder needs besides the packets.
  let cookie: [UInt8]
  let table: PacketTable

  init(_ encoder: PacketEncoder, _ options: PacketEncoder.Options, soundFrames: Int64) {
    self.options = options
    format = encoder.format
    bitRate = encoder.bitRate
    maximumPacketBytes = encoder.maximumPacketBytes
    cookie = encoder.cookie
    table = PacketTable(
      validFrames: soundFrames, primingFrames: encoder.primingFrames,
      remainderFrames: encoder.remainderFrames)
  }
}

extension InputQueue {
  /// An encoder for a queue's packets.
  static func makeEncoder(_ format: PacketFormat, _ options: PacketEncoder.Options)
    throws(QueueError) -> PacketEncoder
  {
    guard format.codec.hasEncoder else { throw .codecNotFound }
    do throws(CodecError) {
      return try PacketEncoder(format, options)
    } catch {
      log.error("\(error.reason)")
      throw .unsupportedFormat
    }
  }

  /// What brings the frames of slabs to the app's buffers.
  func makeConverter(_ deviceRate: Double) throws(QueueError) -> RecordConverter? {
    if packetSink == nil && deviceRate == format.sampleRate { return nil }
    let sink: any RecordSink = packetSink ?? FrameSink(format, layout)
    guard let converter = RecordConverter(format, sink, deviceRate: deviceRate) else {
      throw .unsupportedFormat
    }
    return converter
  }

  // MARK: Encoder

  /// What a decoder needs besides the packets: complete once a run is over. For linear PCM it is what
  /// the app gave.
  package var cookie: [UInt8] { state.read { $0.encoding?.cookie ?? $0.cookie } }

  /// Keeps bytes for the app. An encoder makes its own: `readOnly`.
  package func setCookie(_ cookie: [UInt8]) throws(QueueError) {
    if packetSink != nil { throw .readOnly }
    let isNew = state.change { state in
      defer { state.cookie = cookie }
      return state.cookie != cookie
    }
    if isNew { announce(.magicCookie) }
  }

  /// Bytes of the largest packet that there can be: of linear PCM, of a frame.
  package var maximumPacketBytes: Int {
    state.read { $0.encoding?.maximumPacketBytes } ?? format.bytesPerFrame
  }

  /// Which of the frames that the latest run's packets decode to are sound; nil if the queue is for linear
  /// PCM.
  package var packetTable: PacketTable? { state.read { $0.encoding?.table } }

  /// Bits of packets in a second; nil if the queue is for linear PCM. 0 if the encoder knows of none.
  package var bitRate: Int? { state.read { $0.encoding?.bitRate } }

  /// Has the encoder aim at so many bits a second. While nothing runs.
  ///
  /// - Throws: `invalidPropertyValue` if it has no such rate, `invalidProperty` for linear PCM.
  package func setBitRate(_ bitRate: Int) throws(QueueError) {
    try controlled { () throws(QueueError) in
      try checkIdle()
      guard let packetSink, case .packets(let format) = streamFormat else {
        throw .invalidProperty
      }
      var options = state.read { $0.encoding?.options } ?? PacketEncoder.Options()
      options.bitRate = bitRate
      let encoder: PacketEncoder
      do throws(CodecError) {
        encoder = try PacketEncoder(format, options)
      } catch {
        log.error("\(bitRate) bits per second: \(error.reason)")
        throw .invalidPropertyValue
      }
      claimConverter()
      packetSink.use(encoder, options)
      state.change { state in
        state.encoding = packetSink.encoding
        state.isConverting = false
      }
    }
  }

  /// Takes in what the encoder has to tell. Whoever is at work with the converter.
  ///
  /// - Parameter isFinished: Its last packet has come.
  func noteEncoder(_ state: inout RecordState, isFinished: Bool) {
    guard let packetSink else { return }
    if isFinished { state.encoding = packetSink.encoding }
    if let failure = packetSink.takeFailure() {
      log.error("converter: \(failure)")
      state.converterError = .invalidCodecAccess
      state.notices.append(.changed(.converterError))
    }
  }
}
