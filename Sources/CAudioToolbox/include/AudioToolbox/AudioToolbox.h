// Umbrella header of Audio Toolbox: audio queues, sound files, formats, converters, devices and
// audio units.
#ifndef CUEJACK_AUDIOTOOLBOX_H
#define CUEJACK_AUDIOTOOLBOX_H
#include "../AudioUnit/AudioUnit.h"
#include "../CarbonCore/Endian.h"
#include "../CarbonCore/MacErrors.h"
#include "../CoreAudio/CoreAudio.h"
#include "AUGraph.h"
#include "AudioCodec.h"
#include "AudioConverter.h"
#include "AudioFile.h"
#include "AudioFileStream.h"
#include "AudioFormat.h"
#include "AudioHardwareService.h"
#include "AudioQueue.h"
#include "AudioServices.h"
#include "AudioUnitUtilities.h"
#include "CAFFile.h"
#include "ExtendedAudioFile.h"
#endif
