import ArgumentParser
import Codecs

/// Effort of resampling and encoding.
enum ConversionQuality: String, CaseIterable, ExpressibleByArgument {
  case min, low, medium, high, max

  var resampler: Resampler.Quality {
    switch self {
    case .min: Resampler.Quality(.quick)
    case .low: Resampler.Quality(.low)
    case .medium: Resampler.Quality(.medium)
    case .high: Resampler.Quality(.high)
    case .max: Resampler.Quality(.best)
    }
  }

  /// The same on the encoder's scale, from 0 to 127.
  var encoder: Int {
    switch self {
    case .min: 0
    case .low: 32
    case .medium: 64
    case .high: 96
    case .max: 127
    }
  }
}
