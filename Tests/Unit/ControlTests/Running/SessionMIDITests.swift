import TestSupport
import Testing

@testable import Control
@testable import Sessions

/// MIDI messages that move values and start groups.
@Suite struct SessionMIDITests {
  private func events(_ messages: [[UInt8]]) -> [SessionMIDIEvent] {
    var decoder = SessionMIDIDecoder()
    return messages.compactMap { decoder.event(of: $0) }
  }

  @Test func controllersNotesAndProgramsAreRead() {
    expectEqual(
      events([
        [0xB1, 7, 127], [0x90, 60, 100], [0x90, 60, 0], [0x80, 60, 1], [0xC3, 5], [0xD3, 5],
      ]),
      [
        .controller(.controller, number: 7, channel: 2, position: 1),
        .note(number: 60, channel: 1), .program(number: 5, channel: 4),
      ])
  }

  @Test func nonRegisteredParametersHaveNumbersOfTheirOwn() {
    let found = events([[0xB0, 99, 2], [0xB0, 98, 44], [0xB0, 6, 127], [0xB0, 38, 127]])
    expectTrue(found.contains(.controller(.nrpn, number: 300, channel: 1, position: 1)))
    // A registered parameter is none of them.
    expectEqual(
      events([[0xB0, 99, 2], [0xB0, 98, 44], [0xB0, 101, 0], [0xB0, 6, 1]]),
      ([(99, 2), (98, 44), (101, 0), (6, 1)] as [(Int, Double)]).map {
        SessionMIDIEvent.controller(.controller, number: $0, channel: 1, position: $1 / 127)
      })
  }

  @Test func channelsAreTold() throws {
    let mapping = SessionMapping(try require(SessionController("cc7@2")), to: "tracks[a].volume")
    expectTrue(mapping.isMoved(by: .controller, 7, 2))
    expectTrue(!mapping.isMoved(by: .controller, 7, 1))
    expectTrue(!mapping.isMoved(by: .nrpn, 7, 2))
    let note = try require(SessionMIDINumber("60"))
    expectTrue(note.isMeant(by: 60, 5))
    expectTrue(!note.isMeant(by: 61, 5))
  }
}
