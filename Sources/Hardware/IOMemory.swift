import RealTime
import System

/// Memory of an `IOCycle` and its buffers. Threads that are not real time.
@safe
final class IOMemory: @unchecked Sendable {
  let cycle: UnsafeMutablePointer<IOCycle>
  private let buffers: UnsafeMutablePointer<IOBuffers>
  private let samples: [UnsafeMutableBufferPointer<Float>]

  init(inputs: Int, outputs: Int, callFrames: Int, sampleRate: Double) {
    func memory(_ count: Int) -> UnsafeMutableBufferPointer<Float> {
      let memory = UnsafeMutableBufferPointer<Float>.allocate(capacity: max(count, 1))
      unsafe memory.initialize(repeating: 0)
      unsafe lockIntoMemory(UnsafeRawBufferPointer(memory))
      return unsafe memory
    }
    let stored = IOCycle.mostStoredFrames
    unsafe samples = [
      memory(stored * inputs), memory(stored * outputs), memory(IOCycle.mostCallFrames * outputs),
    ]
    unsafe buffers = .allocate(capacity: 1)
    unsafe buffers.initialize(
      to: IOBuffers(
        input: samples[0].baseAddress!, output: samples[1].baseAddress!,
        scratch: samples[2].baseAddress!))
    unsafe cycle = .allocate(capacity: 1)
    unsafe cycle.initialize(
      to: IOCycle(
        inputs: inputs, outputs: outputs, callFrames: callFrames, sampleRate: sampleRate,
        buffers: buffers))
  }

  deinit {
    unsafe cycle.deinitialize(count: 1)
    unsafe cycle.deallocate()
    unsafe buffers.deallocate()
    for i in unsafe samples.indices {
      unsafe unlockFromMemory(UnsafeRawBufferPointer(samples[i]))
      unsafe samples[i].deallocate()
    }
  }
}
