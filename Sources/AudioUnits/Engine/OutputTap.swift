import CRealTime
import Glibc
import Logging
import RealTime
import Synchronization
import System

/// A piece of an output's sound, as a tap gets it.
package struct TapPiece: Sendable {
  /// Samples of each channel.
  package let channels: [[Float]]
  package let sampleTime: Double
  /// Host time of the first frame in nanoseconds; nil if it is unknown.
  package let hostTime: UInt64?
}

/// Hears what an output of a unit gives, in pieces of one length. Any thread that is not real time.
@safe
package final class OutputTap: EngineService, @unchecked Sendable {
  let ring: UnsafeMutablePointer<TapRing>
  private let records: UnsafeMutablePointer<TapRecordRing>
  private let recordSlots: UnsafeMutableBufferPointer<TapRecord>
  private let samples: UnsafeMutablePointer<SampleTap>
  private let sampleSlots: UnsafeMutableBufferPointer<Float>
  private let capacity: Int
  let channels: Int
  private let sampleRate: Double
  private let size: Int
  private let thread: EngineThread
  private let handler: @Sendable (TapPiece) -> Void

  private struct Piece {
    var samples: [[Float]] = []
    var sampleTime = 0.0
    var hostTime: UInt64 = 0
    /// A record whose frames are in `scratch`: its time jumps.
    var next: TapRecord?
    /// Frames that were told as lost.
    var toldLost: UInt64 = 0
  }
  private let piece = Mutex(Piece())
  /// Held while the handler runs.
  private let running = Mutex<Void>(())
  private let handlerThread = Atomic<UInt>(0)
  private let isRemoved = Atomic<Bool>(false)
  private let scratch: UnsafeMutableBufferPointer<Float>

  /// - Parameters:
  ///   - size: Frames of a piece.
  ///   - frames: Those of the longest render.
  ///   - thread: The thread that calls the handler.
  package init(
    channels: Int, sampleRate: Double, size: Int, frames: Int, on thread: EngineThread,
    _ handler: @escaping @Sendable (TapPiece) -> Void
  ) {
    self.channels = channels
    self.sampleRate = sampleRate
    self.size = size
    self.thread = thread
    self.handler = handler
    // A second of sound, besides what is being collected and rendered.
    let wanted = Int(sampleRate) + 2 * frames + size
    let capacity = 1 << (Int.bitWidth - (wanted - 1).leadingZeroBitCount)
    self.capacity = capacity
    unsafe recordSlots = .allocate(capacity: 16_384)
    unsafe sampleSlots = .allocate(capacity: capacity * channels)
    unsafe sampleSlots.initialize(repeating: 0)
    unsafe lockIntoMemory(UnsafeRawBufferPointer(sampleSlots))
    unsafe records = .allocate(capacity: 1)
    unsafe records.initialize(to: TapRecordRing(slots: recordSlots))
    unsafe samples = .allocate(capacity: 1)
    unsafe samples.initialize(to: SampleTap(channels: channels, samples: sampleSlots))
    unsafe ring = .allocate(capacity: 1)
    unsafe ring.initialize(
      to: TapRing(
        records: records, samples: samples, signal: thread.signal, channels: channels,
        interval: min(size, capacity / 4)))
    unsafe scratch = .allocate(capacity: frames * channels)
    piece.withLock { $0.samples = Array(repeating: [], count: channels) }
  }

  deinit {
    unsafe ring.deinitialize(count: 1)
    unsafe ring.deallocate()
    unsafe samples.deinitialize(count: 1)
    unsafe samples.deallocate()
    unsafe records.deinitialize(count: 1)
    unsafe records.deallocate()
    unsafe unlockFromMemory(UnsafeRawBufferPointer(sampleSlots))
    unsafe sampleSlots.deallocate()
    unsafe recordSlots.deallocate()
    unsafe scratch.deallocate()
  }

  /// Ends the tap: the handler gets nothing more, but may be running.
  package func end() {
    isRemoved.store(true, ordering: .sequentiallyConsistent)
    thread.remove(self)
  }

  /// Ends the tap, and waits until the handler has returned, unless the caller is the handler. Call it without a lock
  /// that a handler may need.
  package func remove() {
    end()
    if handlerThread.load(ordering: .sequentiallyConsistent) == UInt(cue_rt_thread()) { return }
    running.withLock { _ in }
  }

  /// Waits until there is room for a render that no device waits for. The handler itself does not wait.
  package func awaitRoom() {
    while unsafe !ring.pointee.hasRoom(
      frames: capacity / 2, pieces: recordSlots.count / 2, of: capacity),
      !isRemoved.load(ordering: .relaxed),
      handlerThread.load(ordering: .relaxed) != UInt(cue_rt_thread())
    {
      thread.wake()
      usleep(100)
    }
  }

  package func serve() -> UInt64? {
    while let next = piece.withLock({ collect(&$0) }) {
      let isOver = running.withLock { _ in
        if isRemoved.load(ordering: .sequentiallyConsistent) { return true }
        handlerThread.store(UInt(cue_rt_thread()), ordering: .sequentiallyConsistent)
        handler(next)
        handlerThread.store(0, ordering: .sequentiallyConsistent)
        return false
      }
      if isOver { return nil }
    }
    return nil
  }

  /// Returns the next piece that is complete, or that a jump of the time ends; nil if there is none.
  private func collect(_ piece: inout Piece) -> TapPiece? {
    while true {
      let count = piece.samples[0].count
      if count >= size { return take(&piece, size) }
      tellLoss(&piece)
      guard let record = unsafe piece.next ?? ring.pointee.read(into: scratch) else { return nil }
      piece.next = nil
      if count > 0 && abs(record.sampleTime - piece.sampleTime - Double(count)) > 0.5 {
        piece.next = record
        return take(&piece, count)
      }
      append(record, to: &piece)
    }
  }

  private func append(_ record: TapRecord, to piece: inout Piece) {
    if piece.samples[0].isEmpty {
      piece.sampleTime = record.sampleTime
      piece.hostTime = record.hostTime
    }
    for channel in 0..<channels {
      for i in 0..<record.frames {
        unsafe piece.samples[channel].append(scratch[i * channels + channel])
      }
    }
  }

  private func take(_ piece: inout Piece, _ frames: Int) -> TapPiece {
    let taken = TapPiece(
      channels: piece.samples.map { Array($0[..<frames]) }, sampleTime: piece.sampleTime,
      hostTime: piece.hostTime == 0 ? nil : piece.hostTime)
    for channel in 0..<channels { piece.samples[channel].removeFirst(frames) }
    piece.sampleTime += Double(frames)
    if piece.hostTime != 0 { piece.hostTime += UInt64(Double(frames) * 1e9 / sampleRate) }
    return taken
  }

  private func tellLoss(_ piece: inout Piece) {
    let lost = unsafe ring.pointee.lostFrames
    if lost == piece.toldLost { return }
    log.warning("a tap was too slow for \(lost - piece.toldLost) frames, which are lost")
    piece.toldLost = lost
  }
}

extension Unit {
  /// Sets what hears an output; nil for nothing.
  package func setTap(_ tap: OutputTap?, onOutput bus: UInt32) throws(UnitError) {
    try changeBus(.output, bus) { bus, _ in bus.tap = tap }
  }
}
