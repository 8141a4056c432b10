import ArgumentParser

/// The value of `--bitrate`, in bits per second.
struct BitRate: ExpressibleByArgument {
  var bitsPerSecond: Int

  init?(argument: String) {
    let isThousands = argument.lowercased().hasSuffix("k")
    guard let number = Double(isThousands ? String(argument.dropLast()) : argument) else {
      return nil
    }
    let bits = isThousands ? number * 1000 : number
    guard (500...10_000_000).contains(bits) else { return nil }
    bitsPerSecond = Int(bits)
  }
}
