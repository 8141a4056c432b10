import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// `cuejack play --send-to rtp://…` on PipeWire, whose RTP sink sends.
@Suite(.tags(.pipeWire, .program), .serialized) struct PipeWireSendTests {
  /// A UDP port of this machine that takes RTP packets of 24-bit stereo sound.
  private final class Listener: Sendable {
    let port: UInt16
    private let file: Int32
    private let packets = Mutex<[[UInt8]]>([])
    private let isOver = Mutex(false)

    init() throws {
      port = try LossyRelay.freePort()
      file = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      address.sin_port = port.bigEndian
      let bound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard bound == 0 else { throw SupportError("the port \(port) is taken") }
      Thread { [self] in
        var buffer = [UInt8](repeating: 0, count: 4096)
        var entry = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
        while !isOver.withLock({ $0 }) {
          guard poll(&entry, 1, 20) > 0 else { continue }
          let size = recv(file, &buffer, buffer.count, 0)
          if size > 12 { packets.withLock { $0.append(Array(buffer[..<size])) } }
        }
        close(file)
      }.start()
    }

    deinit { isOver.withLock { $0 = true } }

    func end() -> [[UInt8]] {
      isOver.withLock { $0 = true }
      return packets.withLock { $0 }
    }
  }

  @Test func theRTPSinkSendsEveryFrame() throws {
    try withTemporaryFolder { folder in
      let daemon = try PipeWireDaemon()
      let listener = try Listener()
      let file = try WaveFile("noise.wav", in: folder, frames: 96_000)
      let result = try play(
        [file.path, "--send-to", "rtp://127.0.0.1:\(listener.port)"],
        environment: daemon.environment)
      expectTrue(
        result.status == 0 && result.output.contains("client cuejack-play-send"), "\(result)")
      let packets = listener.end()
      try require(packets.count > 100, "\(packets.count) packets")
      // RTP, version 2, with the same payload type in all.
      expectTrue(packets.allSatisfy { $0[0] == 0x80 && $0[1] & 0x7F == packets[0][1] & 0x7F })
      let frames = packets.flatMap { packet in
        stride(from: 12, to: packet.count - 5, by: 6).map { at in
          (0..<2).map { channel -> Float in
            let byte = at + 3 * channel
            let word = packet[byte..<byte + 3].reduce(Int32(0)) { $0 << 8 | Int32($1) } << 8
            return Float(word) / 0x1p31
          }
        }
      }
      let wanted = file.samples
      let first = try require(
        frames.indices.first { frames[$0] == [wanted[0][4800], wanted[1][4800]] },
        "\(frames.count) frames, none of the file's")
      let same = zip(frames[first...], 4800..<96_000).prefix { frame, i in
        frame == [wanted[0][i], wanted[1][i]]
      }.count
      expectTrue(same > 48_000, "\(same) frames in a row")
      // Nothing is left behind.
      let nodes = try run("pw-cli", ["ls", "Node"], environment: daemon.environment)
      expectTrue(!nodes.output.contains("cuejack-play-send"), "\(nodes)")
    }
  }
}
