import CAudioToolbox
import Codecs
import Dispatch
import Server
import Synchronization
import System

/// A ring buffer of frames from a thread that must not block to a worker thread that writes them.
///
/// One thread at a time may call `push`, which neither blocks nor allocates.
@safe
final class AsyncWriter: @unchecked Sendable {
  /// Capacity in frames.
  let capacity: Int
  let bytesPerFrame: Int
  let buffers: Int
  /// The frames of each buffer, one buffer after another.
  let memory: UnsafeMutableRawPointer

  /// The total number of frames pushed and of frames written.
  private let pushed = Atomic<Int>(0)
  private let written = Atomic<Int>(0)
  private let isEnding = Atomic<Bool>(false)
  /// Status of the worker thread's first failure; `noErr` once it was reported.
  private let failure = Atomic<OSStatus>(noErr)
  private let wake = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  /// Creates the ring buffer and starts the worker thread.
  ///
  /// - Parameters:
  ///   - bytesPerFrame: The size of a frame in each buffer.
  ///   - write: Writes frames from the given addresses. Called on the worker thread.
  init(
    buffers: Int, bytesPerFrame: Int, capacity: Int,
    write: @escaping @Sendable (_ pointers: BufferPointers, _ frames: Int) -> OSStatus
  ) {
    self.buffers = buffers
    self.bytesPerFrame = bytesPerFrame
    self.capacity = capacity
    let bytes = buffers * bytesPerFrame * capacity
    unsafe memory = .allocate(byteCount: bytes, alignment: 16)
    // Written now, so that no push waits for the kernel to map memory.
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
    startThread(named: "cuejack-write") { [self] in run(write) }
  }

  deinit { unsafe memory.deallocate() }

  /// The address of a frame in each buffer.
  @safe
  struct BufferPointers: @unchecked Sendable {
    let pointers: [UnsafeMutableRawPointer]
  }

  /// Copies frames into the ring. Returns false if not all of them fit.
  func push(_ list: BufferList, frames: Int) -> Bool {
    let first = pushed.load(ordering: .relaxed)
    guard frames <= capacity - (first - written.load(ordering: .acquiring)) else { return false }
    let at = first % capacity
    let head = min(frames, capacity - at)
    for buffer in 0..<buffers {
      guard let source = unsafe list.pointer(buffer) else { return false }
      unsafe pointer(buffer, at).copyMemory(from: source, byteCount: head * bytesPerFrame)
      unsafe pointer(buffer, 0).copyMemory(
        from: source + head * bytesPerFrame, byteCount: (frames - head) * bytesPerFrame)
    }
    pushed.store(first + frames, ordering: .releasing)
    wake.signal()
    return true
  }

  /// Returns the first unreported failure of the worker thread and clears it.
  func takeFailure() -> OSStatus { failure.exchange(noErr, ordering: .relaxed) }

  /// Waits until all frames are written and ends the worker thread. Call exactly once.
  func end() {
    isEnding.store(true, ordering: .releasing)
    wake.signal()
    ended.wait()
  }

  private func pointer(_ buffer: Int, _ frame: Int) -> UnsafeMutableRawPointer {
    unsafe memory + (buffer * capacity + frame) * bytesPerFrame
  }

  private func run(_ write: (BufferPointers, Int) -> OSStatus) {
    while true {
      let last = isEnding.load(ordering: .acquiring)
      var done = written.load(ordering: .relaxed)
      let end = pushed.load(ordering: .acquiring)
      while done < end {
        let at = done % capacity
        let frames = min(end - done, capacity - at)
        let pointers = unsafe BufferPointers(pointers: (0..<buffers).map { unsafe pointer($0, at) })
        let status = write(pointers, frames)
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
