package import Codecs
import Logging
import RealTime
import System

extension InputQueue {
  /// Creates an encoder for the queue's packets.
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

  /// Creates the converter from staging buffers to the app's buffers; nil if the process thread can
  /// fill the app's buffers directly.
  func makeConverter(_ deviceRate: Double) throws(QueueError) -> RecordConverter? {
    if packetSink == nil && deviceRate == format.sampleRate { return nil }
    let sink: any RecordSink = packetSink ?? FrameSink(format, layout)
    guard let converter = RecordConverter(format, sink, deviceRate: deviceRate) else {
      throw .unsupportedFormat
    }
    return converter
  }

  // MARK: Encoder

  /// The decoder configuration (magic cookie), complete once a run is over. For linear PCM it is
  /// the app's.
  package var cookie: [UInt8] { state.read { $0.part.encoding?.cookie ?? $0.cookie } }

  /// Stores a magic cookie for the app. Throws `readOnly` if the queue has an encoder, which
  /// creates its own.
  package func setCookie(_ cookie: [UInt8]) throws(QueueError) {
    if packetSink != nil { throw .readOnly }
    let isNew = state.change { state in
      defer { state.cookie = cookie }
      return state.cookie != cookie
    }
    if isNew { announce(.magicCookie) }
  }

  /// The maximum packet size in bytes. For linear PCM the size of a frame.
  package var maximumPacketBytes: Int {
    state.read { $0.part.encoding?.maximumPacketBytes } ?? format.bytesPerFrame
  }

  /// The valid, priming and remainder frames of the latest run's packets; nil for linear PCM.
  package var packetTable: PacketTable? { state.read { $0.part.encoding?.table } }

  /// The encoder's bit rate in bits per second; nil for linear PCM, 0 if the encoder has none.
  package var bitRate: Int? { state.read { $0.part.encoding?.bitRate } }

  /// Sets the encoder's target bit rate in bits per second. Call only while nothing is running.
  ///
  /// - Throws: `invalidPropertyValue` if the encoder does not support the rate, `invalidProperty`
  ///   for linear PCM.
  package func setBitRate(_ bitRate: Int) throws(QueueError) {
    try core.controlled { () throws(QueueError) in
      try checkIdle()
      guard let packetSink, case .packets(let format) = streamFormat else {
        throw .invalidProperty
      }
      var options = state.read { $0.part.encoding?.options } ?? PacketEncoder.Options()
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
        state.part.encoding = packetSink.encoding
        state.isConverting = false
      }
    }
  }

  /// Copies the encoder's properties and failures to the state. The calling thread must have
  /// claimed the converter.
  ///
  /// - Parameter isFinished: True once the encoder has output its last packet.
  func noteEncoder(_ state: inout RecordState, isFinished: Bool) {
    guard let packetSink else { return }
    if isFinished { state.part.encoding = packetSink.encoding }
    if let failure = packetSink.takeFailure() {
      log.error("converter: \(failure)")
      state.part.converterError = .invalidCodecAccess
      state.notices.append(.changed(.converterError))
    }
  }
}
