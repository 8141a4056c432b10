package import Server
import Synchronization

/// The filters and changes that a thru connection applies to messages.
package struct MIDIThruRules: Sendable {
  /// A change of a number of 7 bits, or of the 14 bits of a pitch bend.
  package enum Change: Sendable {
    case none
    case drop
    case add(Int)
    /// Multiplies by 4,096ths.
    case scale(Int)
    case atLeast(Int)
    case atMost(Int)

    func applied(to value: Int, most: Int) -> Int? {
      let changed =
        switch self {
        case .none: value
        case .drop: nil as Int?
        case .add(let number): value + number
        case .scale(let factor): value * factor / 4096
        case .atLeast(let least): max(value, least)
        case .atMost(let greatest): min(value, greatest)
        }
      return changed.map { min(max($0, 0), most) }
    }
  }

  /// The channel that each channel becomes; one above 15 lets it not pass.
  package var channels = Array(UInt8(0)..<16)
  package var velocities: ClosedRange<UInt8> = 0...127
  /// If the low note is higher than the high one, the notes between do not pass.
  package var lowNote: UInt8 = 0
  package var highNote: UInt8 = 127
  package var note = Change.none
  package var velocity = Change.none
  package var keyPressure = Change.none
  package var channelPressure = Change.none
  package var program = Change.none
  package var bend = Change.none
  package var dropsExclusive = false
  package var dropsTimeCode = false
  package var dropsClock = false
  package var dropsTuneRequest = false
  package var dropsControls = false

  package init() {}

  /// Returns what a message becomes; nil if it does not pass.
  package func applied(to message: [UInt8]) -> [UInt8]? {
    guard let status = message.first else { return nil }
    switch status {
    case 0xF1: return dropsTimeCode ? nil : message
    case 0xF6: return dropsTuneRequest ? nil : message
    case 0xF8...0xFC: return dropsClock ? nil : message
    case 0xF0, 0xF7, 0..<0x80: return dropsExclusive ? nil : message
    case 0xF2...0xFF: return message
    default: return channelMessage(message)
    }
  }

  private func channelMessage(_ message: [UInt8]) -> [UInt8]? {
    let channel = channels[Int(message[0] & 15)]
    guard channel < 16, message.count == MIDIStream.count(message[0]) else { return nil }
    let head = message[0] & 0xF0 | channel
    let first = Int(message[1])
    let second = message.count > 2 ? Int(message[2]) : 0
    func rest(_ a: Int?, _ b: Int?) -> [UInt8]? {
      guard let a, let b else { return nil }
      return [head, UInt8(a), UInt8(b)]
    }
    switch message[0] & 0xF0 {
    case 0x80, 0x90:
      let key = message[1]
      let isInside =
        lowNote <= highNote ? key >= lowNote && key <= highNote : key >= lowNote || key <= highNote
      let isStart = message[0] >= 0x90 && second > 0
      if !isInside || isStart && !velocities.contains(message[2]) { return nil }
      // What ends a note keeps ending it.
      let changed = isStart ? velocity.applied(to: second, most: 127).map { max(1, $0) } : second
      return rest(note.applied(to: first, most: 127), changed)
    case 0xA0: return rest(first, keyPressure.applied(to: second, most: 127))
    case 0xB0: return dropsControls ? nil : rest(first, second)
    case 0xC0: return program.applied(to: first, most: 127).map { [head, UInt8($0)] }
    case 0xD0: return channelPressure.applied(to: first, most: 127).map { [head, UInt8($0)] }
    default:
      let bent = bend.applied(to: second << 7 | first, most: 0x3FFF)
      return rest(bent.map { $0 & 0x7F }, bent.map { $0 >> 7 })
    }
  }
}

/// A connection of sources with destinations through ports of a client.
package final class MIDIThru: MIDIObject, @unchecked Sendable {
  private let client: MIDIClient
  private let output: MIDIOutputPort
  private let input: MIDIInputPort
  private let route: Route

  /// What the input's function reads.
  private final class Route: Sendable {
    let destinations: [MIDIEndpoint]
    let rules: MIDIThruRules
    init(_ destinations: [MIDIEndpoint], _ rules: MIDIThruRules) {
      self.destinations = destinations
      self.rules = rules
    }
  }

  /// Connects sources with destinations.
  package init(
    from sources: [MIDIEndpoint], to destinations: [MIDIEndpoint], _ rules: MIDIThruRules,
    of client: MIDIClient
  ) throws(ServerError) {
    self.client = client
    let route = Route(destinations, rules)
    self.route = route
    let output = try MIDIOutputPort(named: "Thru", of: client)
    self.output = output
    let device = client.device
    do throws(ServerError) {
      for destination in destinations { try output.send([], to: destination) }
      input = try MIDIInputPort(named: "Thru", of: client) { messages, _ in
        let passed = messages.compactMap { message -> MIDIToSend? in
          guard let bytes = route.rules.applied(to: message.bytes) else { return nil }
          // The next cycle but one has not begun by then: distances stay.
          let delay = 2e9 * Double(device.periodFrames) / device.client.sampleRate
          return MIDIToSend(bytes, at: message.hostTime + UInt64(max(0, delay)))
        }
        for destination in route.destinations { try? output.send(passed, to: destination) }
      }
    } catch {
      output.dispose()
      throw error
    }
    super.init()
    do throws(ServerError) {
      for source in sources { try input.connect(source) }
    } catch {
      input.dispose()
      output.dispose()
      throw error
    }
    client.adopt(self)
  }

  package func dispose() {
    client.disown(self)
    input.dispose()
    output.dispose()
  }
}
