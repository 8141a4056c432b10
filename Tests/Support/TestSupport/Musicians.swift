import CJack
import CTestSupport
import Foundation

/// A JACK client that plays MIDI messages at given frames from its port `out`, and records its port
/// `in`.
package final class Keys: @unchecked Sendable {
  package struct Message: Hashable, Sendable, CustomStringConvertible {
    /// JACK frame time of the message.
    package var frame: UInt32
    package var bytes: [UInt8]
    package init(_ frame: UInt32, _ bytes: [UInt8]) {
      self.frame = frame
      self.bytes = bytes
    }
    package var description: String { "\(bytes)@\(frame)" }
  }
  private let keys: OpaquePointer

  package init(on server: JackDaemon, name: String = "keys") throws {
    var status = JackStatus(rawValue: 0)
    guard let keys = cue_keys_open(server.name, name, &status) else {
      throw SupportError("the client \(name) cannot be opened: JACK status \(status.rawValue)")
    }
    self.keys = keys
  }

  deinit { cue_keys_close(keys) }

  /// Sends three-byte messages, sorted by frame; of a program change the first two bytes. Call it once.
  package func play(_ messages: [Message]) throws {
    let events = messages.map { message in
      cue_midi_event(frame: message.frame, bytes: message.bytes.reduce(0) { $0 << 8 | UInt32($1) })
    }
    guard cue_keys_play(keys, events, events.count) else {
      throw SupportError("keys play once only")
    }
  }

  /// The received messages, all of three bytes.
  package var heard: [Message] {
    (0..<cue_keys_heard(keys)).map { index in
      let event = cue_keys_event(keys, index)
      return Message(
        event.frame, [16, 8, 0].map { UInt8(truncatingIfNeeded: event.bytes >> UInt32($0)) })
    }
  }
}

/// A JACK client that controls the transport and provides its beats, three per bar.
package final class Conductor: @unchecked Sendable {
  private let conductor: OpaquePointer
  private var client: OpaquePointer { cue_conductor_client(conductor) }

  /// - Parameter tempo: Beats per minute; nil to provide no beats.
  package init(on server: JackDaemon, name: String = "conductor", tempo: Double?) throws {
    var status = JackStatus(rawValue: 0)
    guard let conductor = cue_conductor_open(server.name, name, tempo ?? 0, &status) else {
      throw SupportError("the client \(name) cannot be opened: JACK status \(status.rawValue)")
    }
    self.conductor = conductor
  }

  deinit { cue_conductor_close(conductor) }

  package func start() { jack_transport_start(client) }
  package func stop() { jack_transport_stop(client) }
  package func locate(_ frame: Int) { jack_transport_locate(client, UInt32(frame)) }
  package func setTempo(_ beatsPerMinute: Double) {
    cue_conductor_set_tempo(conductor, beatsPerMinute)
  }

  /// Frame time of the transport's frame 0, as the latest cycle played it; nil while the transport is
  /// stopped.
  package var begin: Int? {
    let begin = cue_conductor_begin(conductor)
    return begin == .min ? nil : Int(begin)
  }
}
