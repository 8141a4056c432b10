// The functions of FFmpeg's libraries that Cuejack calls. Each jumps to the address in its entry, which
// is at first that of code that finds the library's function.

// The registers that hold the arguments of any call are kept while a function is looked up.
#if defined(__x86_64__)
  .text
  .type first_call, @function
first_call: // The entry is in r11.
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset rbp, 0
  movq %rsp, %rbp
  .cfi_def_cfa_register rbp
  subq $192, %rsp
  andq $-16, %rsp
  movq %rdi, (%rsp)
  movq %rsi, 8(%rsp)
  movq %rdx, 16(%rsp)
  movq %rcx, 24(%rsp)
  movq %r8, 32(%rsp)
  movq %r9, 40(%rsp)
  movq %rax, 48(%rsp)
  movaps %xmm0, 64(%rsp)
  movaps %xmm1, 80(%rsp)
  movaps %xmm2, 96(%rsp)
  movaps %xmm3, 112(%rsp)
  movaps %xmm4, 128(%rsp)
  movaps %xmm5, 144(%rsp)
  movaps %xmm6, 160(%rsp)
  movaps %xmm7, 176(%rsp)
  movq %r11, %rdi
  callq cue_ffmpeg_find
  movq %rax, %r11
  movq (%rsp), %rdi
  movq 8(%rsp), %rsi
  movq 16(%rsp), %rdx
  movq 24(%rsp), %rcx
  movq 32(%rsp), %r8
  movq 40(%rsp), %r9
  movq 48(%rsp), %rax
  movaps 64(%rsp), %xmm0
  movaps 80(%rsp), %xmm1
  movaps 96(%rsp), %xmm2
  movaps 112(%rsp), %xmm3
  movaps 128(%rsp), %xmm4
  movaps 144(%rsp), %xmm5
  movaps 160(%rsp), %xmm6
  movaps 176(%rsp), %xmm7
  leave
  .cfi_def_cfa rsp, 8
  jmpq *%r11
  .cfi_endproc
  .size first_call, . - first_call

  .macro jump name
  jmpq *entry_\name(%rip)
first_\name:
  leaq entry_\name(%rip), %r11
  jmp first_call
  .endm

#elif defined(__aarch64__)
  .text
  .type first_call, %function
first_call: // The entry is in x16.
  .cfi_startproc
  stp x29, x30, [sp, #-224]!
  .cfi_def_cfa_offset 224
  .cfi_offset x29, -224
  .cfi_offset x30, -216
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  mov x0, x16
  bl cue_ffmpeg_find
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  ldp q0, q1, [sp, #96]
  ldp q2, q3, [sp, #128]
  ldp q4, q5, [sp, #160]
  ldp q6, q7, [sp, #192]
  ldp x29, x30, [sp], #224
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  br x16
  .cfi_endproc
  .size first_call, . - first_call

  .macro jump name
  adrp x16, entry_\name
  ldr x16, [x16, :lo12:entry_\name]
  br x16
first_\name:
  adrp x16, entry_\name
  add x16, x16, :lo12:entry_\name
  b first_call
  .endm
#else
#error "no functions of FFmpeg for this processor"
#endif

  // A function, and its entry: a `struct cue_ffmpeg_entry`.
  .macro function name
  .section .rodata.str1.1, "aMS", %progbits, 1
name_\name:
  .asciz "\name"
  .data
  .balign 8
entry_\name:
  .quad first_\name, name_\name
  .text
  .balign 16
  .globl \name
  .hidden \name
  .type \name, %function
\name:
  .cfi_startproc
  jump \name
  .cfi_endproc
  .size \name, . - \name
  .endm

  function av_bsf_alloc
  function av_bsf_free
  function av_bsf_get_by_name
  function av_bsf_init
  function av_bsf_receive_packet
  function av_bsf_send_packet
  function av_channel_layout_channel_from_index
  function av_channel_layout_copy
  function av_channel_layout_default
  function av_channel_layout_from_mask
  function av_channel_layout_from_string
  function av_channel_layout_uninit
  function av_crc
  function av_crc_get_table
  function av_dict_free
  function av_dict_get
  function av_dict_set
  function av_find_input_format
  function av_frame_alloc
  function av_frame_free
  function av_frame_get_buffer
  function av_frame_get_side_data
  function av_frame_make_writable
  function av_frame_unref
  function av_free
  function av_freep
  function av_get_bits_per_sample
  function av_get_bytes_per_sample
  function av_get_packed_sample_fmt
  function av_log_get_level
  function av_log_set_level
  function av_malloc
  function av_mallocz
  function av_new_packet
  function av_packet_alloc
  function av_packet_free
  function av_packet_get_side_data
  function av_packet_rescale_ts
  function av_packet_unref
  function av_read_frame
  function av_rescale_q
  function av_sample_fmt_is_planar
  function av_samples_set_silence
  function av_sha_alloc
  function av_sha_final
  function av_sha_init
  function av_sha_update
  function av_strdup
  function av_strerror
  function av_tx_init
  function av_tx_uninit
  function av_vorbis_parse_frame
  function av_vorbis_parse_free
  function av_vorbis_parse_init
  function av_write_frame
  function av_write_trailer
  function avcodec_alloc_context3
  function avcodec_find_decoder
  function avcodec_find_decoder_by_name
  function avcodec_find_encoder
  function avcodec_find_encoder_by_name
  function avcodec_flush_buffers
  function avcodec_free_context
  function avcodec_get_name
  function avcodec_get_supported_config
  function avcodec_open2
  function avcodec_receive_frame
  function avcodec_receive_packet
  function avcodec_send_frame
  function avcodec_send_packet
  function avformat_alloc_context
  function avformat_alloc_output_context2
  function avformat_close_input
  function avformat_find_stream_info
  function avformat_free_context
  function avformat_index_get_entries_count
  function avformat_index_get_entry
  function avformat_new_stream
  function avformat_open_input
  function avformat_write_header
  function avio_alloc_context
  function avio_context_free
  function avio_flush
  function avio_seek

  .section .note.GNU-stack, "", %progbits
