import Codecs
import Logging
import RealTime
import System

extension OutputQueue {
  // MARK: Packets

  /// The maximum number of frames to decode at a time, if packets are shorter and of equal size.
  private static var framesAtOnce: Int { 1024 }

  /// Returns the packets in the first `bytes` bytes of a buffer; nil if the queue plays linear PCM.
  ///
  /// - Parameter described: The app's packet descriptions; required if the packets vary in size.
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

  /// The packet size in bytes, for linear PCM the size of a frame; 0 if packets vary in size.
  package var maximumPacketBytes: Int {
    switch streamFormat {
    case .pcm(let format): format.bytesPerFrame
    case .packets(let format): format.bytesPerPacket
    }
  }

  /// The decoder's magic cookie as the app gave it. Linear PCM does not use it.
  package var cookie: [UInt8] { state.read { $0.cookie } }

  /// Sets the magic cookie for packets decoded from now on.
  ///
  /// - Throws: `invalidPropertyValue` if it is not a valid cookie for the queue's format.
  package func setCookie(_ cookie: [UInt8]) throws(QueueError) {
    if case .packets(let format) = streamFormat {
      do throws(CodecError) {
        _ = try BufferDecoder.makeDecoder(format, cookie: cookie)
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
