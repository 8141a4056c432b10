import AudioToolbox
import CRealTime
import MIDI
import RealTime
import Timeline

/// A function of the app that hears messages.
@safe
final class MIDITap: @unchecked Sendable {
  private let hear: (AUEventSampleTime, UnsafeBufferPointer<UInt8>) -> Void

  init(bytes block: @escaping AUMIDIOutputEventBlock) {
    unsafe hear = { time, message in
      _ = unsafe message.baseAddress.map { unsafe block(time, 0, message.count, $0) }
    }
  }

  init(packets block: @escaping AUMIDIEventListBlock) {
    unsafe hear = { time, message in
      var list = MIDIEventList()
      list.protocol = ._1_0
      list.numPackets = 1
      let status = unsafe message[0]
      if status != 0xF0 {
        let kind: UInt32 = status < 0xF0 ? 0x2000_0000 : 0x1000_0000
        list.packet.wordCount = 1
        list.packet.words.0 = unsafe message.prefix(3).enumerated().reduce(kind) {
          $0 | UInt32($1.element) << (16 - 8 * UInt32($1.offset))
        }
        _ = unsafe block(time, 0, &list)
        return
      }
      list.packet.wordCount = 2
      let last = unsafe message.count - (message.last == 0xF7 ? 1 : 0)
      let data = unsafe UnsafeBufferPointer(rebasing: message[1..<max(1, last)])
      unsafe UniversalMIDIWriter.eachPacket(of: data, begins: true, ends: true) { first, second in
        list.packet.words.0 = first
        list.packet.words.1 = second
        _ = unsafe block(time, 0, &list)
      }
    }
  }

  /// The function in the form that a cycle calls, which does not retain this object.
  var tap: MessageTap {
    unsafe MessageTap(Self.call, Unmanaged.passUnretained(self).toOpaque())
  }

  private static let call: cue_render_proc = { data, _, time, _, _, list in
    guard let data = unsafe data, let buffer = unsafe list?.pointee.first,
      let bytes = unsafe buffer.data?.assumingMemoryBound(to: UInt8.self)
    else { return 0 }
    let frame = unsafe AUEventSampleTime(held: time.pointee.sample_time)
    let message = unsafe UnsafeBufferPointer(start: bytes, count: Int(buffer.bytes))
    unsafe Unmanaged<MIDITap>.fromOpaque(data)._withUnsafeGuaranteedRef { tap in
      unsafe tap.hear(frame, message)
    }
    return 0
  }
}
