import Codecs
import Logging
import RealTime

extension OutputQueue {
  // MARK: Packets

  /// Frames that are decoded at one time, at most, if packets are shorter and of one size.
  private static var framesAtOnce: Int { 1024 }

  /// The packets in the first `bytes` bytes of a buffer; nil if the queue is for linear PCM.
  ///
  /// - Parameter described: What the app says of them; needed if they vary in size.
  func packets(_ described: [PacketExtent], bytes: Int, _ schedule: Schedule) throws(QueueError)
    -> Packets?
  {
    for extent in described {
      guard extent.offset >= 0, extent.bytes >= 0, extent.offset <= bytes - extent.bytes else {
        throw .packetOutsideBuffer
      }
    }
    guard case .packets(let format) = streamFormat else { return nil }
    var extents: [PacketExtent]
    if !described.isEmpty {
      extents = described.map { extent in
        var extent = extent
        if format.framesPerPacket > 0 { extent.frames = format.framesPerPacket }
        return extent
      }
    } else {
      guard format.bytesPerPacket > 0 else { throw .packetsNotDescribed }
      let packets = bytes / format.bytesPerPacket
      let atOnce = max(1, Self.framesAtOnce / max(1, format.framesPerPacket))
      extents = stride(from: 0, to: packets, by: atOnce).map { first in
        let count = min(atOnce, packets - first)
        return PacketExtent(
          offset: first * format.bytesPerPacket, bytes: count * format.bytesPerPacket,
          frames: count * format.framesPerPacket)
      }
    }
    guard !extents.isEmpty else { throw .bufferEmpty }
    return Packets(
      extents: extents, trimmedAtStart: schedule.trimmedAtStart,
      trimmedAtEnd: schedule.trimmedAtEnd)
  }

  /// Bytes of a packet, of a frame of linear PCM; 0 if they vary.
  package var maximumPacketBytes: Int {
    switch streamFormat {
    case .pcm(let format): format.bytesPerFrame
    case .packets(let format): format.bytesPerPacket
    }
  }

  /// What the app gave for the decoder, as it gave it. Linear PCM has no use for it.
  package var cookie: [UInt8] { state.read { $0.cookie } }

  /// Has what is decoded from now on be decoded with this.
  ///
  /// - Throws: `invalidPropertyValue` if it is not a cookie of the queue's format.
  package func setCookie(_ cookie: [UInt8]) throws(QueueError) {
    if case .packets(let format) = streamFormat {
      do throws(CodecError) {
        _ = try PacketSource.makeDecoder(format, cookie: cookie)
      } catch {
        log.error("a magic cookie of \(cookie.count) bytes: \(error.reason)")
        throw .invalidPropertyValue
      }
    }
    let isNew = state.change { state in
      defer { state.cookie = cookie }
      return state.cookie != cookie
    }
    if isNew { announce(.magicCookie) }
  }
}
