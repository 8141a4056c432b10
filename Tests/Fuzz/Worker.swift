import Foundation

/// Runs cases, one after the other, in this process.
struct Worker {
  let subject: any Subject
  let seed: UInt64
  let deadline: Int
  let plantsFaults: Bool
  let isVerbose: Bool

  /// Writes the number of the case that is under way to the file `progress`.
  func run(_ cases: Range<Int>, progress: String) throws {
    let descriptor = open(progress, O_WRONLY | O_CREAT | O_TRUNC, 0o666)
    defer { close(descriptor) }
    for number in cases {
      let text = Array("\(number)".utf8)
      pwrite(descriptor, text, text.count, 0)
      // Whoever hangs is ended.
      alarm(UInt32(deadline))
      if plantsFaults { commitFault(number) }
      var dice = Dice(seed: seed, case: number)
      let input = subject.input(&dice)
      if isVerbose { print("case \(number): \(input.name), \(input.bytes.count) bytes") }
      try subject.run(input, scratch: progress, &dice)
    }
    alarm(0)
  }

  private func commitFault(_ number: Int) {
    switch number {
    case 3:
      let memory = malloc(16)
      memset(memory!, 1, 17)
      free(memory)
    case 5: fatalError("on purpose")
    case 7: while true { pause() }
    case 9:
      // 2 GB, which are touched.
      for _ in 0..<32 { memset(malloc(1 << 26)!, 1, 1 << 26) }
      // Time to notice.
      sleep(1)
    default: break
    }
  }
}
