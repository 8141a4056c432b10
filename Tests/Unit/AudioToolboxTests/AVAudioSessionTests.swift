import AudioUnits
import Foundation
import Hardware
import Synchronization
import TestSupport
import Testing

@testable import AudioToolbox

/// The session of the Swift layer on a server that is driven by hand.
@Suite struct AVAudioSessionTests {
  /// The notifications of a session, in words.
  final class Notes: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }

    func listen(to session: AVAudioSession) {
      let names = [
        AVAudioSession.interruptionNotification, AVAudioSession.routeChangeNotification,
      ]
      for name in names {
        _ = NotificationCenter.default.addObserver(forName: name, object: session, queue: nil) {
          [weak self] notification in
          let info = notification.userInfo ?? [:]
          var words: [String] = []
          if let type = info[AVAudioSessionInterruptionTypeKey] as? UInt {
            words.append("\(AVAudioSession.InterruptionType(rawValue: type).map { "\($0)" } ?? "")")
          }
          if let option = info[AVAudioSessionInterruptionOptionKey] as? UInt {
            let options = AVAudioSession.InterruptionOptions(rawValue: option)
            words.append(options.contains(.shouldResume) ? "resume" : "stay")
          }
          if let reason = info[AVAudioSessionRouteChangeReasonKey] as? UInt {
            words.append(
              "\(AVAudioSession.RouteChangeReason(rawValue: reason).map { "\($0)" } ?? "")")
          }
          let route = info[AVAudioSessionRouteChangePreviousRouteKey]
          if let route = route as? AVAudioSessionRouteDescription {
            words.append("\(route.inputs.count)/\(route.outputs.count)")
          }
          self?.list.withLock { $0.append(words.joined(separator: " ")) }
        }
      }
    }
  }

  let server = HandDrivenServer(name: "swift-session-\(UUID())")
  let device: HardwareDevice
  let session: AVAudioSession

  init() {
    let device = HardwareDevice(server, named: server.name, clientName: "session")
    self.device = device
    session = AVAudioSession(AudioSession(decides: false) { device })
  }

  private func end() throws {
    try session.setActive(false)
    device.closeIfUnused()
  }

  private func status(_ body: () throws -> Void) -> OSStatus {
    do {
      try body()
      return noErr
    } catch { return (error as? AudioSessionError)?.status ?? -1 }
  }

  @Test func theHardwareIsThatOfTheServer() throws {
    #expect(session.sampleRate == 48000 && session.ioBufferDuration == 1024.0 / 48000)
    #expect(session.inputNumberOfChannels == 2 && session.outputNumberOfChannels == 2)
    #expect(session.inputLatency == 0 && session.outputLatency == 0)
    #expect(session.isInputAvailable && session.outputVolume == 1 && !session.isOtherAudioPlaying)
    let route = session.currentRoute
    #expect(route.inputs.isEmpty)
    let card = try #require(route.outputs.first)
    #expect(route.outputs.count == 1 && card.portType == .lineOut && card.portName == "system")
    #expect(card.uid == "jack:\(server.name)/system")
    #expect(card.channels?.map(\.channelName) == ["system:playback_1", "system:playback_2"])
    #expect(card.channels?.map(\.channelNumber) == [1, 2])
    try session.setCategory(.playAndRecord)
    #expect(session.currentRoute.inputs.map(\.portType) == [.lineIn])
    try end()
  }

  @Test func aServerThatCannotBeReached() {
    server.failure = .unknownServer("nowhere")
    #expect(session.sampleRate == 0 && session.ioBufferDuration == 0)
    #expect(!session.isInputAvailable && session.currentRoute.outputs.isEmpty)
    #expect(
      status { try session.setActive(true) }
        == kAudioServicesNoHardwareError)
  }

  @Test func preferencesAreReadBackAndTakeEffect() throws {
    try session.setPreferredSampleRate(44100)
    #expect(session.preferredSampleRate == 44100 && session.sampleRate == 48000)
    try session.setPreferredIOBufferDuration(0.01)
    #expect(session.preferredIOBufferDuration == 0.01 && session.ioBufferDuration == 0.01)
    #expect(
      status { try session.setPreferredIOBufferDuration(-1) }
        == kAudioSessionUnsupportedPropertyError)
    try end()
  }

  @Test func categoriesModesAndOptions() throws {
    #expect(session.category == .soloAmbient && session.mode == .default)
    #expect(session.availableCategories.count == 6)
    try session.setCategory(.playAndRecord, mode: .voiceChat, options: [.defaultToSpeaker])
    #expect(session.category == .playAndRecord && session.mode == .voiceChat)
    #expect(session.categoryOptions == .defaultToSpeaker && session.availableModes.count == 5)
    try session.overrideOutputAudioPort(.speaker)
    try session.setCategory(.playback, options: .mixWithOthers)
    #expect(session.mode == .default && session.categoryOptions == .mixWithOthers)
    #expect(session.availableModes == [.default, .measurement])
    let refused: [() throws -> Void] = [
      { try session.setMode(.gameChat) },
      { try session.overrideOutputAudioPort(.speaker) },
      {
        try session.setCategory(.record, options: .mixWithOthers)
      },
    ]
    for body in refused { #expect(status(body) == kAudioSessionIncompatibleCategory) }
    let unknown: [() throws -> Void] = [
      { try session.setCategory(.init(rawValue: "none")) },
      { try session.setMode(.init(rawValue: "none")) },
    ]
    for body in unknown { #expect(status(body) == kAudioSessionUnsupportedPropertyError) }
    #expect(session.category == .playback)
    #expect("\(AudioSessionError(kAudioSessionIncompatibleCategory))".contains("category"))
    try end()
  }

  /// Programs set the session up in Swift and call C for what Apple's class lacked.
  @Test func theFunctionsOfCWorkBesideIt() {
    #expect(AVAudioSession.sharedInstance() === AVAudioSession.sharedInstance())
    var size: UInt32 = 0
    #expect(
      AudioSessionGetPropertySize(kAudioSessionProperty_AudioRouteDescription, &size) == noErr)
    #expect(size == 8)
    #expect(AudioSessionInitialize(nil, nil, nil, nil) == kAudioSessionAlreadyInitialized)
  }

  @Test func whatHappensIsPosted() throws {
    let notes = Notes()
    notes.listen(to: session)
    try session.setActive(true)
    try session.setCategory(.playAndRecord)
    #expect(waits { notes.all == ["categoryChange 0/1"] })
    server.goAway()
    #expect(waits { notes.all.last == "began" })
    server.comeBack()
    #expect(waits { notes.all.last == "ended resume" })
    #expect(notes.all.count == 3)
    try end()
  }
}
