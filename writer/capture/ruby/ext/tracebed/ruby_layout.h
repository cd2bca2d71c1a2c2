/*
 * Where Ruby keeps what none of its headers declares: the frames of its virtual machine, by version. 64-bit machines
 * only.
 *
 * For a version that is not listed here RUBY_LAYOUT_IS_KNOWN is 0, and Ruby's public functions are asked for
 * locations. To add a version, look up the structures named here in its vm_core.h; ruby_frames_test() checks them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RUBY_LAYOUT_H
#define TRACEBED_RUBY_LAYOUT_H

#if RUBY_API_VERSION_CODE / 100 == 301 && defined(__LP64__)
#define RUBY_LAYOUT_IS_KNOWN 1
#else
#define RUBY_LAYOUT_IS_KNOWN 0
#endif

#define RUBY_LAYOUT_ARG_CONTEXT 8 /* struct rb_trace_arg_struct: ec, cfp, data */
#define RUBY_LAYOUT_ARG_FRAME   16
#define RUBY_LAYOUT_ARG_OBJECT  56

#define RUBY_LAYOUT_STACK        0 /* struct rb_execution_context_struct: vm_stack, vm_stack_size */
#define RUBY_LAYOUT_STACK_NWORDS 8

#define RUBY_LAYOUT_FRAME_NBYTES   64 /* struct rb_control_frame_struct: pc, iseq, ep */
#define RUBY_LAYOUT_FRAME_PC       0
#define RUBY_LAYOUT_FRAME_SEQUENCE 16
#define RUBY_LAYOUT_FRAME_EP       32
#define RUBY_LAYOUT_IS_C           0x80 /* VM_FRAME_FLAG_CFRAME in ep[0] */

#define RUBY_LAYOUT_IS_LOCAL 0x02 /* VM_ENV_FLAG_LOCAL in ep[0]; ep[-1]: the environment around it */

#define RUBY_LAYOUT_IMEMO_SHIFT       12 /* what ep[-2] refers to: its kind in its flags */
#define RUBY_LAYOUT_IMEMO_BOX         2  /* struct vm_svar: cref_or_me */
#define RUBY_LAYOUT_IMEMO_METHOD      6  /* struct rb_callable_method_entry_struct: def, owner */
#define RUBY_LAYOUT_BOX_ENTRY         8
#define RUBY_LAYOUT_METHOD_DEFINITION 16 /* its type is in the lowest 4 bits; 0: code in Ruby */
#define RUBY_LAYOUT_METHOD_OWNER      32

#define RUBY_LAYOUT_SEQUENCE_BODY 16 /* struct rb_iseq_struct: body */

#define RUBY_LAYOUT_HEAP_PAGE_NBYTES                                                                         \
    16384 /* pages of the heap, aligned; slots are counted from a page's start */
#define RUBY_LAYOUT_SLOT_NBYTES  40
#define RUBY_LAYOUT_HEAP_PAGE    0   /* struct heap_page_body: header.page */
#define RUBY_LAYOUT_MARKS        120 /* struct heap_page: mark_bits */
#define RUBY_LAYOUT_MARKS_NWORDS 7

#define RUBY_LAYOUT_BODY_PC_COUNT 4 /* struct rb_iseq_constant_body: iseq_size (32 bits), iseq_encoded */
#define RUBY_LAYOUT_BODY_CODE     8

#endif
