import AudioQueue
import Codecs
import Files
import RealTime
import Server
import Synchronization
import Timeline

/// A recording of the session while it is written.
struct SessionRecorder: Sendable {
  let name: String
  let recorder: FileRecorder
  let file: RecordingFile
}

/// Recordings: armed ones start and end with the session.
extension SessionEngine {
  /// Starts the armed recordings at a device frame. One that cannot start is reported.
  func startRecordings(at frame: Int64) {
    // A render server has nothing to record.
    guard isLive || !device.client.physicalInputs.isEmpty, recorders.withLock({ $0.isEmpty }) else {
      return
    }
    for recording in document.recordings where recording.armed {
      do throws(SessionRunError) {
        let recorder = try start(recording, at: frame)
        recorders.withLock { $0.append(recorder) }
      } catch {
        options.onMessage("recordings[\(recording.name)]: \(error)")
      }
    }
  }

  /// Whether a recording is being written.
  package var isRecording: Bool { recorders.withLock { !$0.isEmpty } }

  private func start(_ recording: SessionRecording, at frame: Int64) throws(SessionRunError)
    -> SessionRecorder
  {
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
          clientName: options.clientName, connections: .ports(recording.ports)),
        server: RecordingServer(device), onFailure: options.onMessage, onEvent: {})
      do throws(QueueError) {
        try recorder.queue.setDeviceUID(device.uid)
        try recorder.prepare()
        try recorder.start(file, at: .frame(frame), limit: nil)
      } catch {
        recorder.close()
        throw error
      }
      return SessionRecorder(name: recording.name, recorder: recorder, file: file)
    } catch {
      throw .queue(name: recording.name, error)
    }
  }

  /// Returns the absolute path of a new file: as named, or with a number if there is one already.
  private func freePath(for file: String) throws(SessionRunError) -> String {
    try SessionRunError.session { () throws(SessionError) in
      if try !folder.holds(file) { return try folder.pathForWriting(file) }
      let slash = file.lastIndex(of: "/") ?? file.startIndex
      let dot = file[slash...].lastIndex(of: ".") ?? file.endIndex
      var number = 2
      while true {
        let name = "\(file[..<dot])-\(number)\(file[dot...])"
        if try !folder.holds(name) { return try folder.pathForWriting(name) }
        number += 1
      }
    }
  }

  /// Ends all recordings and completes their files.
  func stopRecordings() {
    let ending = recorders.withLock { recorders in
      defer { recorders = [] }
      return recorders
    }
    for entry in ending {
      entry.recorder.stop()
      entry.recorder.close()
      guard let writer = entry.file.writer else {
        options.onMessage("recordings[\(entry.name)]: nothing was recorded")
        continue
      }
      do throws(SoundFileError) {
        try writer.close()
        let lost =
          entry.recorder.silentFrames > 0
          ? "; \(entry.recorder.silentFrames) frames were lost and are silent" : ""
        options.onMessage("\(entry.file.output.path): recorded \(writer.frames) frames\(lost)")
      } catch {
        options.onMessage("\(error)")
      }
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
