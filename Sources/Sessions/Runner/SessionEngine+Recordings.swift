import AudioQueue
import Codecs
import Files
import Glibc
import RealTime
import Server
import Synchronization
import System
import Timeline

/// A recording of the session that is prepared or written.
struct SessionRecorder: Sendable {
  let name: String
  let recorder: FileRecorder
  let file: RecordingFile
  let inputs: InputConnections
  var isStarted = false
}

/// Recordings: armed ones start and end with the session.
extension SessionEngine {
  /// Opens the armed recordings that are not being written: their ports exist and are connected then. One
  /// that cannot be opened is reported.
  ///
  /// - Returns: The names of those that are not started.
  func prepareRecordings(_ isWanted: (SessionRecording) -> Bool = { $0.armed }) -> [String] {
    // A render server has nothing to record.
    guard isLive || !device.client.physicalInputs.isEmpty else { return [] }
    let open = Set(recorders.withLock { $0.map { Name($0.name) } })
    for recording in document.recordings
    where isWanted(recording) && !open.contains(Name(recording.name)) {
      do throws(SessionRunError) {
        let recorder = try prepare(recording)
        recorders.withLock { $0.append(recorder) }
        recordingFailures.withLock { $0.reasons[recording.name] = nil }
      } catch {
        noteFailure(of: recording.name, "\(error)")
      }
    }
    if recorders.withLock({ !$0.isEmpty }) { showPorts() }
    return recorders.withLock { $0.filter { !$0.isStarted }.map(\.name) }
  }

  /// Starts prepared recordings at a device frame. One that cannot start is reported.
  func startRecordings(_ names: [String], at frame: Int64) {
    let names = Set(names.map(Name.init))
    for entry in recorders.withLock({ $0 }) where names.contains(Name(entry.name)) {
      recorders.withLock { recorders in
        for index in recorders.indices
        where recorders[index].file === entry.file {
          recorders[index].isStarted = true
        }
      }
      do throws(QueueError) {
        try entry.recorder.start(entry.file, at: .frame(frame), limit: nil)
      } catch {
        noteFailure(of: entry.name, "\(SessionRunError.queue(name: entry.name, error))")
        stopRecordings { $0 == entry.name }
      }
    }
  }

  /// The reasons of recordings that have failed.
  struct RecordingFailures: Sendable {
    /// Why the last takes failed, by the recordings' names.
    var reasons: [String: String] = [:]
    /// The recordings that have failed since `takeFailedRecordings`.
    var fresh: Set<String> = []
  }

  /// Notes that a recording has failed, and reports it.
  private func noteFailure(of name: String, _ reason: String) {
    recordingFailures.withLock { failures in
      failures.reasons[name] = reason
      failures.fresh.insert(name)
    }
    options.onFailure()
    options.onMessage("recordings[\(name)]: \(reason)")
  }

  /// Throws the reason of an armed recording that does not record although the session plays.
  package func checkRecordings() throws(SessionRunError) {
    guard isPlaying else { return }
    let open = Set(recorders.withLock { $0.map { Name($0.name) } })
    for recording in document.recordings
    where recording.armed && !open.contains(Name(recording.name)) {
      if let reason = failure(ofRecording: recording.name) {
        throw .refused("recordings[\(recording.name)] does not record: \(reason)")
      }
    }
  }

  /// Returns why the last take of a recording failed; nil if it did not.
  package func failure(ofRecording name: String) -> String? {
    recordingFailures.withLock { $0.reasons[name] }
  }

  /// Tells of recordings whose inputs have lost their connections, or have others. Their takes go on.
  package func tellInputs() {
    for entry in recorders.withLock({ $0 }) {
      let (lost, found) = entry.inputs.look()
      if let lost { recordingFailures.withLock { $0.reasons[entry.name] = lost } }
      for words in found + [lost].compactMap({ $0 }) {
        options.onMessage("recordings[\(entry.name)]: \(words)")
      }
    }
  }

  /// Ends recordings that cannot go on: their file cannot be written, or was deleted.
  ///
  /// - Returns: The names of those that have failed since the last call.
  package func takeFailedRecordings() -> Set<String> {
    for entry in recorders.withLock({ $0 }) where entry.isStarted {
      var isDeleted = false
      do throws(SoundFileError) {
        try entry.file.store?.checkPresence()
      } catch {
        isDeleted = true
      }
      if isDeleted || entry.recorder.hasFailed { stopRecordings { $0 == entry.name } }
    }
    return recordingFailures.withLock { failures in
      defer { failures.fresh = [] }
      return failures.fresh
    }
  }

  /// Replaces recordings that were started too late by new ones, and deletes what they have written.
  func restartRecordings(_ names: [String]) {
    if names.isEmpty { return }
    let names = Set(names.map(Name.init))
    for entry in remove({ names.contains(Name($0.name)) }) {
      entry.recorder.stop()
      entry.recorder.close()
      try? entry.file.writer?.close()
      entry.file.store?.remove()
    }
    _ = prepareRecordings { names.contains(Name($0.name)) }
  }

  /// Whether a recording is being written.
  package var isRecording: Bool { recorders.withLock { $0.contains { $0.isStarted } } }

  private func remove(_ isWanted: (SessionRecorder) -> Bool) -> [SessionRecorder] {
    recorders.withLock { recorders in
      let removed = recorders.filter(isWanted)
      recorders.removeAll(where: isWanted)
      return removed
    }
  }

  private func prepare(_ recording: SessionRecording) throws(SessionRunError) -> SessionRecorder {
    let rate = device.client.sampleRate
    let kind = try SessionRunError.file { () throws(SoundFileError) in
      try SoundFormat(
        path: recording.file, coding: recording.format.flatMap { SoundCoding($0) },
        bits: recording.bits, pcm: .pcm(.signedInteger, bits: 24), losslessBits: 24)
    }
    let stream = kind.stream(
      sampleRate: kind.usableRate(for: rate),
      channels: kind.usableChannels(for: recording.ports.count))
    let path = try freePath(for: recording.file)
    let file = try SessionRunError.file { () throws(SoundFileError) in
      RecordingFile(
        try ClaimedPath(path, isReplacing: false),
        try SoundWriter.Plan(path, container: kind.container, format: stream))
    }
    do throws(QueueError) {
      let recorder = try FileRecorder(
        file.plan.input,
        options: InputQueue.Options(
          clientName: options.clientName, connections: .ports(recording.ports.map(presentName(of:)))
        ),
        server: RecordingServer(device), onFailure: { _ in }, onEvent: {})
      do throws(QueueError) {
        try recorder.queue.setDeviceUID(device.uid)
        try recorder.prepare()
      } catch {
        recorder.close()
        throw error
      }
      return SessionRecorder(
        name: recording.name, recorder: recorder, file: file,
        inputs: InputConnections(recorder.queue))
    } catch {
      throw .queue(name: recording.name, error)
    }
  }

  /// Returns the absolute path of a new file: as named, or with a number if there is one already.
  private func freePath(for file: String) throws(SessionRunError) -> String {
    try SessionRunError.session { () throws(SessionError) in
      if try !folder.holds(file) { return try folder.pathForWriting(file) }
      var number = 2
      while true {
        let name = "\(file.pathStem)-\(number)\(file.pathExtension)"
        if try !folder.holds(name) { return try folder.pathForWriting(name) }
        number += 1
      }
    }
  }

  /// Lets recordings that run end on one frame, and waits until it has come.
  private func endTogether(_ entries: [SessionRecorder]) {
    let running = entries.filter(\.isStarted)
    guard running.count > 1, isLive, !device.isLost else { return }
    let end = device.now + lead(running.count, attempt: 0)
    for entry in running { entry.recorder.end(atDeviceFrame: end) }
    let deadline = device.hostTime(ofFrame: end) + 1_000_000_000
    while device.latestFrame < end, !device.isLost, HostTime.now < deadline { usleep(500) }
  }

  /// Ends all recordings, or some, on one frame, and completes their files. What was recorded to a file that was
  /// deleted meanwhile is kept in another one.
  func stopRecordings(_ isWanted: (String) -> Bool = { _ in true }) {
    let ending = remove { isWanted($0.name) }
    endTogether(ending)
    for entry in ending {
      entry.recorder.stop()
      entry.recorder.close()
      var failure = entry.recorder.failure
      guard let writer = entry.file.writer, let store = entry.file.store else {
        if let failure {
          noteFailure(of: entry.name, failure)
        } else if entry.isStarted, !takes.withLock({ $0.contains(Name(entry.name)) }),
          self.failure(ofRecording: entry.name) == nil
        {
          // One that never started, or that comes after a take, is nothing to tell of.
          options.onFailure()
          options.onMessage("recordings[\(entry.name)]: nothing was recorded")
        }
        continue
      }
      takes.withLock { _ = $0.insert(Name(entry.name)) }
      do throws(SoundFileError) {
        try writer.close()
      } catch {
        failure = failure ?? "\(error)"
      }
      var path: String? = store.name
      switch RecordingRescue(of: store) {
      case .notNeeded: break
      case .copied(let copy, let reason):
        path = copy
        failure = reason
      case .lost(let reason):
        path = nil
        failure = reason
      }
      let lost =
        entry.recorder.silentFrames > 0
        ? "; \(entry.recorder.silentFrames) frames were lost and are silent" : ""
      if let failure { noteFailure(of: entry.name, failure) }
      guard let path else { continue }
      // Of a file that could not be completed, only what can be read counts.
      let frames =
        failure == nil ? writer.frames : (try? MediaFiles.open(path: path).frameCount) ?? 0
      options.onMessage("\(path): recorded \(frames) frames\(lost)")
    }
  }
}

/// The server of a queue that is about to use an open device.
private struct RecordingServer: Server {
  let device: Device
  init(_ device: Device) { self.device = device }

  func openClient(named name: String) throws(ServerError) -> any ServerClient {
    throw .lost(server: device.client.serverName)
  }
  func reopenClient(named name: String) -> (any ServerClient)? { nil }
}
