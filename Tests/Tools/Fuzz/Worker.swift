import Foundation

/// The child process, which runs cases one after another.
struct Worker {
  let subject: any Subject
  let seed: UInt64
  let deadline: Int
  let plantsFaults: Bool
  let isVerbose: Bool

  /// Runs the cases and writes the number of the current one to the file `progress`.
  func run(_ cases: Range<Int>, progress: String) throws {
    let descriptor = open(progress, O_WRONLY | O_CREAT | O_TRUNC, 0o666)
    defer { close(descriptor) }
    for number in cases {
      let text = Array("\(number)".utf8)
      pwrite(descriptor, text, text.count, 0)
      // The alarm ends a case that hangs.
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
      // Touch 2 GB.
      for _ in 0..<32 { memset(malloc(1 << 26)!, 1, 1 << 26) }
      // Give the sanitizer time to notice.
      sleep(1)
    default: break
    }
  }
}
