import AudioQueue
import Codecs
import Files
import Foundation
import RealTime
import Synchronization
import TestSupport
import Testing

@testable import Sessions

/// Recording to files on a hand-driven server.
@Suite(.serialized) struct FileRecorderTests {
  /// A thread that runs cycles as fast as the recording is written, until it is released.
  private final class Cycles: Sendable {
    private let isOver: Flag
    private let ended = DispatchSemaphore(value: 0)
    private final class Flag: Sendable { let value = Atomic(false) }

    init(of server: HandDrivenServer, for recorder: FileRecorder) {
      let (isOver, ended) = (Flag(), ended)
      self.isOver = isOver
      Thread.detachNewThread {
        var frames: Int64 = 0
        while !isOver.value.load(ordering: .acquiring) {
          guard frames - recorder.frames < 2048 else {
            sched_yield()
            continue
          }
          server.cycle(frames: 256)
          frames += 256
        }
        ended.signal()
      }
    }

    deinit {
      isOver.value.store(true, ordering: .releasing)
      ended.wait()
    }
  }

  private func file(_ path: String, _ format: PCMFormat) throws -> RecordingFile {
    RecordingFile(
      try ClaimedPath(path, isReplacing: true),
      try SoundWriter.Plan(path, container: .wave, format: .pcm(format)))
  }

  /// A buffer is being enqueued again at any time, and the stop has to meet it. Several recordings run
  /// at once, so that threads are interrupted meanwhile.
  @Test func aRecordingEndsAtAnyMoment() throws {
    try withTemporaryFolder { folder in
      let hung = Atomic(0)
      DispatchQueue.concurrentPerform(iterations: 6) { number in
        for round in 0..<60 where hung.load(ordering: .relaxed) == 0 {
          let path = folder.appendingPathComponent("\(number)-\(round).wav").path
          if (try? endsInTime(path)) != true { hung.add(1, ordering: .relaxed) }
        }
      }
      expectEqual(hung.load(ordering: .relaxed), 0, "recordings that do not end")
    }
  }

  /// Records for a while. Returns `false` if the recording does not end.
  private func endsInTime(_ path: String) throws -> Bool {
    // Buffers of 256 frames, which the recorder writes quickly.
    let format = PCMFormat(
      sampleRate: 2048, channels: 1, kind: .signedInteger, bitsPerSample: 16)
    let server = HandDrivenServer(sampleRate: 2048)
    let recorder = try FileRecorder(
      format, options: .init(clientName: "recorder", connections: .none), server: server,
      onFailure: { _ in }, onEvent: {})
    defer { recorder.close() }
    try recorder.prepare()
    try recorder.start(file(path, format), at: .atOnce, limit: nil)
    let cycles = Cycles(of: server, for: recorder)
    defer { withExtendedLifetime(cycles) {} }
    let end = Date(timeIntervalSinceNow: 60)
    while recorder.frames < 20_000, !recorder.isOver, Date() < end { usleep(100) }
    let ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      recorder.stop()
      ended.signal()
    }
    return ended.wait(timeout: .now() + 20) == .success
  }

  /// Before the first frame the folder is unchanged.
  @Test func theFileIsBegunWithTheFirstFrame() throws {
    try withTemporaryFolder { folder in
      let format = PCMFormat(
        sampleRate: 48000, channels: 1, kind: .signedInteger, bitsPerSample: 16)
      let path = folder.appendingPathComponent("a.wav").path
      try Data("old".utf8).write(to: URL(fileURLWithPath: path))
      let server = HandDrivenServer()
      let recorder = try FileRecorder(
        format, options: .init(clientName: "recorder", connections: .none), server: server,
        onFailure: { _ in }, onEvent: {})
      defer { recorder.close() }
      try recorder.prepare()
      let file = try file(path, format)
      try recorder.start(file, at: .frame(100_000), limit: nil)
      for _ in 0..<10 { server.cycle(frames: 4096) }
      expectNil(file.store)
      expectEqual(text(of: URL(fileURLWithPath: path)), "old")
      for _ in 0..<30 { server.cycle(frames: 4096) }
      recorder.stop()
      try file.writer?.close()
      try expectEqual(MediaFiles.open(path: path).frameCount, 40 * 4096 - 100_000)
    }
  }

  /// There is no room for the end of the sound: the writer throws and closes the file.
  @Test func aWriterIsClosedWhateverHappens() throws {
    let format = StreamFormat.packets(
      PacketFormat(codec: .aac, sampleRate: 48000, channels: 1))
    let path = "/dev/full"
    let plan = try SoundWriter.Plan(path, container: .adts, format: format)
    let writer = try SoundWriter(FileStore(creating: path, isReplacing: true), plan)
    let sound = [Float](repeating: 0.5, count: 100)
    func write() throws(SoundFileError) {
      let result = sound.withUnsafeBytes { bytes in
        Result { () throws(SoundFileError) in try writer.write(bytes) }
      }
      try result.get()
    }
    try write()
    #expect(throws: SoundFileError(.noRoom, path: path)) { try writer.close() }
    #expect(throws: SoundFileError(.notForWriting, path: path)) {
      try writer.file.writePackets(
        at: writer.file.packetCount, from: UnsafeRawBufferPointer(start: nil, count: 0), extents: []
      )
    }
  }
}
