import CFFmpeg

/// A parser that computes the frames of consecutive packets of a Vorbis stream.
@safe
package final class VorbisDurations {
  private let parser: OpaquePointer

  /// Creates the parser; nil if the headers are damaged.
  package init?(_ extradata: [UInt8]) {
    let parser = unsafe extradata.withUnsafeBufferPointer {
      unsafe ffmpeg.av_vorbis_parse_init($0.baseAddress, CInt($0.count))
    }
    guard let parser = unsafe parser else { return nil }
    unsafe self.parser = parser
  }

  deinit {
    var parser = unsafe Optional(parser)
    unsafe ffmpeg.av_vorbis_parse_free(&parser)
  }

  /// Returns the frames of the next packet.
  package func frames(of packet: [UInt8]) -> Int {
    unsafe packet.withUnsafeBufferPointer {
      unsafe max(0, Int(ffmpeg.av_vorbis_parse_frame(parser, $0.baseAddress, CInt($0.count))))
    }
  }
}
