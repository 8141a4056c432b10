import Sessions

/// A movement of a MIDI controller, a note that is struck, or a program change.
enum SessionMIDIEvent: Equatable {
  /// `position` is 0 to 1.
  case controller(SessionController.Kind, number: Int, channel: Int, position: Double)
  case note(number: Int, channel: Int)
  case program(number: Int, channel: Int)
}

/// A decoder of MIDI messages, with the non-registered parameter that each channel has selected. A
/// value.
struct SessionMIDIDecoder {
  private struct Channel {
    /// The selected parameter's number, in two halves; nil if none or a registered one is selected.
    var high, low: UInt8?
    var coarse: UInt8 = 0
  }
  private var channels = [Channel](repeating: Channel(), count: 16)

  /// Returns what a message of a channel says; nil for all others.
  mutating func event(of message: [UInt8]) -> SessionMIDIEvent? {
    if message.count == 2, message[0] & 0xF0 == 0xC0 {
      return .program(number: Int(message[1] & 0x7F), channel: Int(message[0] & 0x0F) + 1)
    }
    guard message.count == 3 else { return nil }
    let channel = Int(message[0] & 0x0F)
    let (first, second) = (message[1], message[2])
    switch message[0] & 0xF0 {
    case 0x90 where second > 0: return .note(number: Int(first), channel: channel + 1)
    case 0xB0: return controller(first, second, channel)
    default: return nil
    }
  }

  private mutating func controller(_ number: UInt8, _ value: UInt8, _ channel: Int)
    -> SessionMIDIEvent?
  {
    func parameter(_ position: Double) -> SessionMIDIEvent? {
      guard let high = channels[channel].high, let low = channels[channel].low else { return nil }
      return .controller(
        .nrpn, number: Int(high) << 7 | Int(low), channel: channel + 1, position: position)
    }
    switch number {
    case 99: channels[channel].high = value
    case 98: channels[channel].low = value
    // A registered parameter takes the data entry away.
    case 100, 101: (channels[channel].high, channels[channel].low) = (nil, nil)
    case 6:
      channels[channel].coarse = value
      if let event = parameter(Double(value) / 127) { return event }
    case 38:
      let whole = Int(channels[channel].coarse) << 7 | Int(value)
      if let event = parameter(Double(whole) / 16383) { return event }
    default: break
    }
    guard number < 120 else { return nil }
    return .controller(
      .controller, number: Int(number), channel: channel + 1, position: Double(value) / 127)
  }
}
