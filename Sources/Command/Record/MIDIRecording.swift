import ArgumentParser
import Dispatch
import Files
import MIDI
import Server
import Sessions
import System

/// `cuejack record` of a MIDI file.
struct MIDIRecording {
  private let file: String
  private let inputs: [String]
  private let client: ClientOptions
  private let isReplacing: Bool

  init(_ file: String, from inputs: [String], _ client: ClientOptions, isReplacing: Bool) {
    self.file = file
    self.inputs = inputs
    self.client = client
    self.isReplacing = isReplacing
  }

  /// Records until a signal, the key q, or the end of `--seconds`.
  func run(_ signals: StopSignals, _ awake: DispatchSemaphore) throws {
    do {
      try record(signals, awake)
    } catch let code as ExitCode {
      throw code
    } catch {
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
  }

  private func record(_ signals: StopSignals, _ awake: DispatchSemaphore) throws {
    let claim = try ClaimedPath(file, isReplacing: isReplacing)
    let midi = try MIDIClient(
      named: client.clientName(for: file, usual: "cuejack-record"),
      on: client.jackServer(for: [file]))
    defer { midi.dispose() }
    let device = midi.device
    let rate = device.client.sampleRate
    let limit = client.seconds?.frames(at: rate)
    let store = try claim.makeFile()
    let take = MIDITake(to: store, sampleRate: rate)
    let port = try MIDIVirtualDestination(named: "midi_in", of: midi) { take.take($0) }
    let choice = PortChoice(
      option: "--midi-in", values: inputs, direction: .output, kind: .midi)
    let others =
      inputs.isEmpty
      ? [] : try choice.ports(on: device.client, waiting: 0, isStopped: { true })
    for other in others { try device.connect(port.endpoint.name, to: other) }
    let start = device.latestFrame
    take.begin(at: start, hostTime: device.client.hostTime)
    Screen.shared.say(
      "\(file): server \(device.client.serverName), client \(midi.jackName), MIDI, from frame \(start)"
    )
    Screen.shared.say("  \(midi.jackName):\(port.endpoint.name) <- \(listed(others))")

    try wait(for: take, on: midi, until: limit.map { start + $0 }, signals, awake)
    let frames = max(0, min(limit ?? .max, device.latestFrame - start))
    midi.awaitDelivery()
    take.end(at: start + frames)
    try take.write(frames: frames)
    let bytes = try store.byteCount()
    Screen.shared.say(
      "\(file): recorded \(take.messages) messages in \(exactClock(Double(frames) / rate)), "
        + byteCount(bytes))
    Screen.shared.emit(FileEvent(file: file, firstFrame: 0, frames: frames, bytes: bytes))
    if let signal = signals.received, limit != nil { throw ExitCode(128 + signal) }
  }

  /// Waits for the end. Writes what was recorded every second.
  private func wait(
    for take: MIDITake, on midi: MIDIClient, until end: Int64?, _ signals: StopSignals,
    _ awake: DispatchSemaphore
  ) throws {
    let device = midi.device
    var watch = ServerWatch("recording")
    var isAskedToQuit = false
    var failure: SoundFileError?
    var nextWrite = HostTime.now + 1_000_000_000
    CommandWait(signals: signals, awake: awake).run {
      watch.note(device.loss, server: device.client.serverName)
      if HostTime.now >= nextWrite {
        nextWrite = HostTime.now + 1_000_000_000
        do throws(SoundFileError) { try take.write() } catch { failure = error }
      }
      let isOver = end.map { device.latestFrame >= $0 } ?? false
      return isOver || isAskedToQuit || failure != nil ? nil : 0.05
    } press: { key in
      isAskedToQuit = isAskedToQuit || key == .character("q")
    } show: {
    }
    if let failure { throw failure }
  }
}
