import CAudioToolbox
import Codecs
import Dispatch
import Server
import Synchronization

/// Frames on their way from a thread that must not wait to one that writes them.
///
/// `push` may be called by one thread at a time; it neither waits nor allocates.
@safe
final class AsyncWriter: @unchecked Sendable {
  /// Frames that there is room for.
  let capacity: Int
  private let bytesPerFrame: Int
  private let buffers: Int
  private let memory: UnsafeMutableRawPointer

  /// Frames that were pushed, and that were written.
  private let pushed = Atomic<Int>(0)
  private let written = Atomic<Int>(0)
  private let isEnding = Atomic<Bool>(false)
  /// What the writing thread's first failure came to, until it has been told of.
  private let failure = Atomic<OSStatus>(noErr)
  private let wake = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - bytesPerFrame: In each buffer.
  ///   - write: Writes frames that begin at these places; called on a thread of its own.
  init(
    buffers: Int, bytesPerFrame: Int, capacity: Int,
    write: @escaping @Sendable (_ places: Places, _ frames: Int) -> OSStatus
  ) {
    self.buffers = buffers
    self.bytesPerFrame = bytesPerFrame
    self.capacity = capacity
    let bytes = buffers * bytesPerFrame * capacity
    unsafe memory = .allocate(byteCount: bytes, alignment: 16)
    // Touched now, so that no push has to wait for the system's memory.
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
    startThread(named: "cuejack-write") { [self] in run(write) }
  }

  deinit { unsafe memory.deallocate() }

  /// Where a frame lies in each buffer.
  @safe
  struct Places: @unchecked Sendable {
    let pointers: [UnsafeMutableRawPointer]
  }

  /// Takes frames in; false if there is no room for them all.
  func push(_ list: BufferList, frames: Int) -> Bool {
    let first = pushed.load(ordering: .relaxed)
    guard frames <= capacity - (first - written.load(ordering: .acquiring)) else { return false }
    let at = first % capacity
    let head = min(frames, capacity - at)
    for buffer in 0..<buffers {
      guard let source = unsafe list.place(buffer) else { return false }
      unsafe place(buffer, at).copyMemory(from: source, byteCount: head * bytesPerFrame)
      unsafe place(buffer, 0).copyMemory(
        from: source + head * bytesPerFrame, byteCount: (frames - head) * bytesPerFrame)
    }
    pushed.store(first + frames, ordering: .releasing)
    wake.signal()
    return true
  }

  /// The first failure of the writing thread that nobody was told of.
  func takeFailure() -> OSStatus { failure.exchange(noErr, ordering: .relaxed) }

  /// Waits until all is written, and ends the thread. To be called once.
  func end() {
    isEnding.store(true, ordering: .releasing)
    wake.signal()
    ended.wait()
  }

  private func place(_ buffer: Int, _ frame: Int) -> UnsafeMutableRawPointer {
    unsafe memory + (buffer * capacity + frame) * bytesPerFrame
  }

  private func run(_ write: (Places, Int) -> OSStatus) {
    while true {
      let last = isEnding.load(ordering: .acquiring)
      var done = written.load(ordering: .relaxed)
      let end = pushed.load(ordering: .acquiring)
      while done < end {
        let at = done % capacity
        let frames = min(end - done, capacity - at)
        let places = unsafe Places(pointers: (0..<buffers).map { unsafe place($0, at) })
        let status = write(places, frames)
        if status != noErr {
          _ = failure.compareExchange(expected: noErr, desired: status, ordering: .relaxed)
        }
        done += frames
        written.store(done, ordering: .releasing)
      }
      if last { break }
      wake.wait()
    }
    ended.signal()
  }
}
