"""A kernel that Tritium has compiled, in the form of Triton's: whoever asks a `CompiledKernel` for its texts, numbers and launcher finds them."""

import copy
import functools
import hashlib
import json
from collections import namedtuple

from tritium import _tritium, symbols


@functools.cache
def kernel_class(module):
    """The class of Tritium's kernels. `module`: `triton.compiler.compiler`."""

    class Texts(module.AsmDict):
        """The texts of a kernel's stages. Those of stages that only Triton has are Triton's: it compiles the kernel when one is asked for."""

        __slots__ = ("theirs",)

        def __missing__(self, stage):
            if stage not in ("ttir", "ttgir"):
                return super().__missing__(stage)
            self[stage] = text = self.theirs().asm[stage]
            return text

        def __reduce__(self):
            return module.AsmDict, (dict(self),)

    class Kernel(module.CompiledKernel):
        # Outside of `__dict__`, which Inductor takes apart and sends to other processes.
        __slots__ = ("code", "theirs")

        def __init__(self, src, request, code, parsed, theirs):
            target, backend, options = parsed
            self.code = code
            #: Triton's kernel of the same, if it comes to that.
            self.theirs = functools.cache(theirs)
            self.src = src
            self.name = code.name
            self.hash = hashlib.sha256(f"tritium {_tritium.__version__} {request.source.text} {request.key}".encode()).hexdigest()
            fields = {
                **options.__dict__,
                "name": code.name,
                "hash": self.hash,
                "target": target,
                "shared": code.shared,
                "triton_version": module.__version__,
                # Inductor launches machine code with the function's own parameters, unless it reads here that these are not enough.
                "global_scratch_size": code.scratch or 128 * code.tensor_maps,
                "global_scratch_align": 128 if code.scratch or code.tensor_maps else 1,
                "profile_scratch_size": 0,
                "profile_scratch_align": 1,
                "tmem_size": 0,
                "tensordesc_meta": None,
                "cluster_dims": (1, 1, 1),
                "compiled_by": "tritium",
            }
            self.metadata = namedtuple("KernelMetadata", sorted(fields))(**fields)
            self.packed_metadata = backend.pack_metadata(self.metadata)
            self.kernel = code.image
            self.asm = Texts({"ptx": code.ptx, "llir": code.llvm, "cubin": code.image})
            self.asm.theirs = self.theirs
            self.metadata_group = _written(module, self.hash, self.name, fields, self.asm)
            self.module = None
            self.function = None
            self._run = None
            _watch_globals(src.fn, request.source)

        def _init_handles(self):
            if self.module is not None:
                return
            device = module.driver.active.get_current_device()
            knobs = getattr(module.knobs, "runtime", None)
            try:
                limit = module.max_shared_mem(device)
                if self.metadata.shared > limit:
                    raise module.OutOfResources(self.metadata.shared, limit, "shared memory")
                if (hook := getattr(knobs, "kernel_load_start_hook", None)) is not None:
                    hook(self.module, self.function, self.name, self.metadata_group, self.hash)
                loaded = self.code.load(self.metadata.num_warps, bool(self.metadata.launch_cooperative_grid), bool(self.metadata.launch_pdl))
                threads = 32 * self.metadata.num_warps
                if threads > loaded.max_threads:
                    raise module.OutOfResources(threads, loaded.max_threads, "threads")
            except module.OutOfResources as error:
                # A copy: this one takes the frames along that it passes.
                self.__dict__["run"] = self._run = functools.partial(_raise, copy.copy(error))
                raise
            self.module = self.function = loaded.function
            self.n_regs, self.n_spills, self.n_max_threads = loaded.registers, loaded.local_bytes // 4, loaded.max_threads
            self.__dict__["run"] = self._run = self._launcher(loaded)
            if (hook := getattr(knobs, "kernel_load_end_hook", None)) is not None:
                hook(self.module, self.function, self.name, self.metadata_group, self.hash)

        def _launcher(self, loaded):
            if self.code.scratch:
                loaded = _with_scratch(loaded, self.code.scratch)
            if not any(isinstance(type, str) and type.startswith("tensordesc") for type in self.src.signature.values()):
                return loaded

            def run(*call):
                try:
                    return loaded(*call)
                except _tritium.PaddingError:
                    # What is read beyond a tensor's end is known once a descriptor is seen, and zeros are compiled.
                    theirs = self.theirs()
                    return theirs.run(*call[:4], theirs.function, theirs.packed_metadata, *call[6:])

            return run

        def launch_metadata(self, grid, stream, *args):
            hook = module.knobs.runtime.launch_enter_hook
            if hook is None or getattr(hook, "calls", True) == []:
                return None
            return super().launch_metadata(grid, stream, *args)

    # In the instance once the kernel is loaded, so that a launch finds it at once.
    Kernel.run = _Run()
    return Kernel


def _with_scratch(loaded, bytes):
    """Launches with memory of the allocator that the program has set, as Triton does."""
    from triton.runtime import _allocation

    def run(*call):
        programs, stream = call[0] * call[1] * call[2], call[3]
        allocator = getattr(_allocation._allocator, "get", lambda: _allocation._allocator)()
        return loaded(*call, scratch=allocator(programs * bytes, 128, stream) if programs else 0)

    return run


class _Run:
    """`kernel.run` before the kernel is loaded."""

    def __get__(self, kernel, owner=None):
        if kernel is None:
            return self
        kernel._init_handles()
        return kernel.__dict__["run"]


def _raise(error, *args, **kwargs):
    raise copy.copy(error)


def _written(module, hash, name, fields, asm):
    """The files that Triton keeps of a kernel, in its own cache: Inductor launches from them."""
    try:
        manager = module.get_cache_manager(hash)
        group = {}
        for kind in ("ptx", "cubin"):
            file = f"{name[:150]}.{kind}"
            group[file] = manager.put(asm[kind], file, binary=kind == "cubin")
        file = f"{name[:150]}.json"
        group[file] = manager.put(json.dumps(fields, default=vars), file, binary=False)
        manager.put_group(file, group)
        return group
    except (OSError, TypeError, ValueError):
        # Nowhere to write.
        return {}


def _watch_globals(function, source):
    """Triton looks at each launch whether a global that was compiled in has changed. It knows them from its own compilation."""
    used = getattr(function, "used_global_vals", None)
    if used is None:
        return
    seen = set()

    def add(source):
        if source.module in seen:
            return
        seen.add(source.module)
        for where, name, value in source.captured:
            if isinstance(where, dict) and not symbols.is_jit(value):
                used.setdefault((name, id(where)), (value, where))
        for other in source.others:
            add(other)

    add(source)
