"""The composition root: the only module that names concrete adapters."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from atlas_desktop.paths import Paths
from atlas_desktop.services.desk import AppContext
from atlas_desktop.services.vault import VaultService
from atlas_desktop.settings.file import CheckKeys, SettingsFile, any_keys
from atlas_desktop.settings.schema import Settings
from memory.clock import SystemClock
from memory.kinds import RoomKind
from memory.vault.keys import RoomKey
from memory.vault.vault import Vault, Vaults
from models.errors import ModelDamaged, ModelsError, NoModel

if TYPE_CHECKING:
    from atlas_desktop.services.backup import BackupService, RepairService
    from atlas_desktop.services.doctor import Doctor
    from atlas_desktop.services.engines import EngineService
    from atlas_desktop.services.models import Model, ModelService
    from atlas_desktop.services.tuning import TuningService
    from memory.clock import Clock
    from memory.storage.snapshots import SnapshotStore
    from memory.storage.store import Store
    from memory.vectors.entities import VectorIndex
    from models.engines.spec import EngineReport, EngineSpec
    from models.host import ModelHost
    from models.library.installed import ModelLibrary
    from models.tuning.plan import RunSettings


def build_desk(paths: Paths) -> AppContext:
    """Wires the program. Reads the settings; opens nothing."""
    settings_file = SettingsFile(paths.config)
    settings_file.load()

    async def open_store(key: RoomKey | None, room: RoomKind) -> "Store":
        return await _open_store(paths, key, room)

    desk = AppContext(
        paths=paths,
        settings_file=settings_file,
        vault=build_vault(paths),
        make_models=lambda: build_models(paths),
        open_store=open_store,
        start_model=lambda settings, chosen: _start_model(paths, settings, chosen, lambda: desk.engines),
        watch_models=lambda arrived: _watch_models(paths.models, arrived),
        open_snapshots=lambda key, room: _open_snapshots(paths, settings_file.settings, key, room),
        vector_index=lambda passages: _vector_index(settings_file.settings, passages),
        tuning=lambda settings: build_tuning(paths, settings),
        make_backups=lambda: build_backups(paths, settings_file),
        make_engines=lambda: build_engines(settings_file, lambda: desk.at(RoomKind.OPEN).store),
        make_doctor=lambda: _doctor_of(desk),
        power=SystemPower(),
    )
    return desk


def _doctor_of(desk: AppContext) -> "Doctor":
    """Returns the doctor of a home that is in use."""
    from atlas_desktop.services.doctor import Doctor

    return Doctor(desk.paths, desk.settings_file, desk.vault, desk.models, desk.backups)


def build_vault(paths: Paths) -> VaultService:
    from memory.vault.upkeep import AtomicRoomSwap

    AtomicRoomSwap(paths.rooms).recover()

    async def open_store(key: RoomKey, room: RoomKind, create: bool) -> "Store":  # noqa: FBT001 - see OpenStore
        return await _open_store(paths, key, room, create=create)

    return VaultService(build_vaults(paths.rooms), open_store)


def build_vaults(rooms: Path) -> Vaults:
    """Returns the vaults whose keyslots are in a folder."""
    from memory.vault.system_keyring import SystemKeyring

    return Vaults(Vault(rooms, RoomKind.OPEN, keyring=SystemKeyring()), Vault(rooms, RoomKind.PRIVATE))


def build_backups(paths: Paths, settings: SettingsFile) -> "BackupService":
    from atlas_desktop import __version__
    from atlas_desktop.services.backup import BackupService
    from memory.storage.files import SqlRoomFiles

    def folder() -> Path:
        chosen = settings.settings.backup.folder
        return Path(chosen).expanduser() if chosen else paths.home / "backups"

    clock = SystemClock()
    return BackupService(paths.rooms, folder, build_vaults, SqlRoomFiles(clock), clock, __version__)


def build_repairs(paths: Paths) -> "RepairService":
    from atlas_desktop.services.backup import RepairService
    from memory.storage.files import SqlRoomFiles

    clock = SystemClock()
    files = SqlRoomFiles(clock)
    return RepairService(paths.rooms, build_vaults, files, files, clock)


def build_doctor(paths: Paths, check_keys: CheckKeys = any_keys) -> "Doctor":
    """Returns the doctor, which works even if the settings cannot be read."""
    from atlas_desktop.services.doctor import Doctor

    settings = SettingsFile(paths.config, check_keys=check_keys)
    backups = build_backups(paths, settings)
    return Doctor(paths, settings, build_vault(paths), build_models(paths), backups)


def build_models(paths: Paths) -> "ModelService":
    """Returns the model operations of a home; works without settings and without a vault."""
    from atlas_desktop.services.models import ModelService
    from models.library.catalog import load_catalog
    from models.library.download import ModelFetcher

    library = model_library(paths)
    catalog = load_catalog()

    async def probe(path: Path) -> None:
        from models.host import probe

        await probe(path)

    return ModelService(
        library,
        catalog,
        ModelFetcher(library, catalog, paths.cache),
        person=Path.home(),
        environment=os.environ,
        probe=probe,
    )


def model_library(paths: Paths) -> "ModelLibrary":
    from models.library.catalog import load_catalog
    from models.library.installed import ModelLibrary

    return ModelLibrary(paths.models, load_catalog())


async def _open_store(paths: Paths, key: RoomKey | None, room: RoomKind, *, create: bool = False) -> "Store":
    from memory.storage.room import open_off_record, open_room

    if key is None:
        return await open_off_record(SystemClock())
    return await open_room(paths.rooms / f"{room}.db", key, room, SystemClock(), create=create)


async def open_with_clock(paths: Paths, key: RoomKey, room: RoomKind, clock: "Clock") -> "Store":
    """Opens a room with a clock other than the system's."""
    from memory.storage.room import open_room

    return await open_room(paths.rooms / f"{room}.db", key, room, clock)


def build_engines(settings: SettingsFile, open_room: Callable[[], "Store"]) -> "EngineService":
    """Returns the other model servers that the settings name."""
    from atlas_desktop.services.engines import EngineService
    from memory.vault.system_keyring import SystemKeyring

    async def probe(spec: "EngineSpec", model: str) -> "EngineReport":
        from models.engines.client import EngineClient
        from models.engines.model import EngineModel

        engine = EngineModel(EngineClient(spec), model)
        try:
            return await engine.report()
        finally:
            await engine.close()

    return EngineService(settings, SystemKeyring(), open_room, probe)


def _start_model(
    paths: Paths, settings: Settings, chosen: str | None, engines: Callable[[], "EngineService"]
) -> "Model":
    """Returns the models in use. Each role is served by Atlas's own process or by an engine."""
    from atlas_desktop.services.models import Model
    from models.library.catalog import ModelRole

    chat = chosen or settings.models.chat_engine
    if ":" in chat or settings.models.embed_engine:
        return _start_engines(paths, settings, chat, engines())
    library = model_library(paths)
    host = build_host(paths, library, settings, chosen)
    try:
        library.sound_default(ModelRole.EMBED)
    except ModelDamaged as damaged:
        return Model(host, host, host.close, prefixes=host, damaged=damaged)
    except NoModel:
        return Model(host, host, host.close, prefixes=host)
    return Model(host, host, host.close, prefixes=host, embedder=host)


def _start_engines(paths: Paths, settings: Settings, chat: str, engines: "EngineService") -> "Model":
    """Returns models of which an engine serves at least one. A model that cannot be used raises its error
    when asked."""
    from atlas_desktop.services.engines import UnavailableEngine
    from models.engines.client import EngineClient
    from models.engines.model import EngineModel

    clients: dict[str, EngineClient] = {}

    def connect(ref: str) -> tuple[EngineModel, str]:
        engine, model = engines.check(ref)
        # Both roles of an engine share a client, which sends one request at a time.
        if engine.name not in clients:
            clients[engine.name] = EngineClient(engines.spec(engine.name))
        return EngineModel(clients[engine.name], model), "" if engine.local else engine.name

    own = _start_model(
        paths, _without_engines(settings), None if ":" in chat else chat or None, lambda: engines
    )

    async def close() -> None:
        try:
            await own.close()
        finally:
            for client in clients.values():
                await client.close()

    found = replace(own, close=close)
    if ":" in chat:
        try:
            model, remote = connect(chat)
            found = replace(found, chat=model, counter=model, prefixes=None, remote_chat=remote)
        except ModelsError as error:
            found = replace(
                found, chat=UnavailableEngine(error), counter=UnavailableEngine(error), prefixes=None
            )
    if settings.models.embed_engine:
        try:
            model, remote = connect(settings.models.embed_engine)
            found = replace(found, embedder=model, damaged=None, remote_embed=remote)
        except ModelsError as error:
            found = replace(found, embedder=UnavailableEngine(error), damaged=None)
    return found


def _without_engines(settings: Settings) -> Settings:
    import msgspec

    return msgspec.structs.replace(
        settings, models=msgspec.structs.replace(settings.models, chat_engine="", embed_engine="")
    )


async def _open_snapshots(
    paths: Paths, settings: Settings, key: RoomKey, room: RoomKind
) -> "SnapshotStore | None":
    """Opens the model states of a room's sessions, in a file next to the room.

    If the settings turn them off, it deletes the existing ones and returns None.
    """
    from memory.storage.snapshots import open_snapshots

    limit = settings.context.snapshots_mb * 1024 * 1024
    snapshots = await open_snapshots(paths.rooms / f"{room}-states.db", key, limit=limit)
    if settings.context.snapshots:
        return snapshots
    await snapshots.drop_all()
    await snapshots.close()
    return None


MANY_PASSAGES = 20_000
"""From this number of passages on, LanceDB's scan takes longer than a turn may wait."""


def _vector_index(settings: Settings, passages: int) -> "VectorIndex":
    wanted = settings.memory.vector_index
    if wanted == "exact" or (wanted == "auto" and passages >= MANY_PASSAGES):
        from memory.vectors.flat import FlatVectorIndex

        return FlatVectorIndex()
    from memory.vectors.lance import LanceVectorIndex

    return LanceVectorIndex()


def _watch_models(folder: Path, arrived: Callable[[Path], None]) -> Callable[[], None]:
    from models.library.installed import ModelWatcher

    watcher = ModelWatcher(folder, arrived)
    watcher.start()
    return watcher.stop


def build_host(
    paths: Paths, library: "ModelLibrary", settings: Settings, chosen: str | None = None
) -> "ModelHost":
    """Returns the supervisor of the model's process; `chosen` names a model other than the default."""
    from models.host import ModelHost
    from models.library.catalog import ModelRole
    from models.tuning.kernels import KernelsNote
    from models.tuning.plan import TunedStore
    from models.worker.client import HostSpec

    store = TunedStore(paths.models)
    in_use: dict[Path, RunSettings] = {}

    def chat() -> tuple[str, Path]:
        model = library.get(chosen) if chosen else library.default(ModelRole.CHAT)
        path = model.path
        tuned = store.for_file(model.id, path) if path.is_file() else None
        if tuned is not None:
            path = store.folder / tuned.file if tuned.file else path
            in_use[path] = tuned.settings
        return model.id, path

    def embed() -> tuple[str, Path]:
        model = library.default(ModelRole.EMBED)
        return model.id, model.path

    def draft(path: Path) -> Path | None:
        with suppress(ModelsError):
            found = library.draft_for(path)
            if found is not None:
                _refuse_what_cannot_fit(found, settings.models.context_length)
            return found
        return None

    note = KernelsNote.beside(paths.models)
    return ModelHost(
        HostSpec(
            chat=chat,
            embed=embed,
            context_length=settings.models.context_length,
            threads=settings.models.threads,
            gpu_layers=settings.models.gpu_layers,
            load_timeout_s=settings.models.load_timeout_s,
            check=_refuse_what_cannot_fit,
            kernels=note.read(),
            need_kernels=note.write,
            tuned=in_use.get,
            speculation=settings.models.speculation,
            draft=draft,
        )
    )


def build_tuning(paths: Paths, settings: Settings, *, quick: bool = False) -> "TuningService":
    """Returns the service that finds the fastest settings on this machine; `quick` tries only other weight
    layouts."""
    import psutil

    from atlas_desktop.services.tuning import TuningService
    from models.library.files import fingerprint
    from models.tuning.bench import Bench
    from models.tuning.kernels import KernelsNote
    from models.tuning.plan import RunSettings, TunedStore, TuningPlan, thread_counts

    logical = psutil.cpu_count() or 1
    real = psutil.cpu_count(logical=False) or logical
    # A number of threads that the user chose is not varied. While other programs work, the best number cannot
    # be measured: fewer threads then only look faster.
    threads = settings.models.threads
    busy = psutil.getloadavg()[0] >= real
    plan = TuningPlan(threads=() if threads or busy else thread_counts(real, logical))
    if quick:
        plan = TuningPlan(threads=(), batches=(), attention=False, tokens=128, held=0)
    note = KernelsNote.beside(paths.models)
    return TuningService(
        model_library(paths),
        TunedStore(paths.models),
        lambda path: Bench(path, note.read()),
        fingerprint=fingerprint,
        plan=plan,
        start=RunSettings(threads=threads or real),
    )


def _refuse_what_cannot_fit(path: Path, context_length: int) -> None:
    """Checks the header and the memory before llama.cpp sees the file. Raises `NotEnoughMemory`."""
    import psutil

    from models.errors import NotEnoughMemory
    from models.library.catalog import USUAL_CONTEXT
    from models.library.gguf import read_header

    header = read_header(path)
    length = min(context_length or USUAL_CONTEXT, header.context_length or USUAL_CONTEXT)
    # Weights are mapped and can be read from disk as needed; the rest has to fit into memory.
    needed = path.stat().st_size // 2 + length * 16 * 1024
    available = psutil.virtual_memory().available
    if needed > available:
        raise NotEnoughMemory(needed, available)


class SystemPower:
    """The battery as reported by the system; without a battery or a report, the computer counts as on mains
    power."""

    def on_battery(self) -> bool:
        import psutil

        find = getattr(psutil, "sensors_battery", None)
        battery = find() if find is not None else None
        return battery is not None and battery.power_plugged is False
