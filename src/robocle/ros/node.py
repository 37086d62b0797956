"""The lifecycle node: connects topics, services and parameters with a recogniser.

Configuring opens the state, activating starts recognising. One thread talks to ROS, another works
with the learner. While an image is recognised, newer ones replace each other. So the node always
processes the newest image, answers at once, and nothing can grow.
"""

import logging
import os
from typing import Any

from robocle.errors import ImageError, RobocleError, RosError, SpecError
from robocle.finders import finder
from robocle.learner import Learner
from robocle.ros import required
from robocle.ros.encodings import RosPicture, decoded, picture_of
from robocle.ros.frames import AwaitedFrames, StampMatcher, Worker
from robocle.ros.messages import Publishers
from robocle.ros.recogniser import Health, ImageWork, Recogniser, Work
from robocle.ros.services import Services
from robocle.ros.settings import Settings, declare_parameters, parameter_values

log = logging.getLogger("robocle")

REPORT_SECONDS = 1.0


class RobocleNode:
    """What the lifecycle node does in its transitions and callbacks.

    Args:
        node: The lifecycle node of rclpy. It calls the transitions of this object.
    """

    def __init__(self, node: Any) -> None:
        self.node = node
        self.failure = ""
        """Why the last transition failed."""
        self._recogniser: Recogniser | None = None
        self._announced = -1  # the version of what was announced last
        self._active = False
        self._enabled = True
        self._worker: Worker[Work] | None = None
        self._frames = AwaitedFrames()
        self._health = Health()
        self._matcher = StampMatcher[Any, Any]()
        self._work: ImageWork | None = None
        self._images: Any = None
        self._boxes: Any = None
        self._results = required("rclpy.lifecycle").TransitionCallbackReturn
        declare_parameters(node, lambda: self._settings, self._apply)
        self._publish = Publishers(node)
        self._create_services()
        # With use_sim_time, the clock of the node may stand still.
        clocks = required("rclpy.clock")
        steady = clocks.Clock(clock_type=clocks.ClockType.STEADY_TIME)
        node.create_timer(REPORT_SECONDS, self._report, clock=steady)
        node.add_managed_entity(_entity(self))

    # --- transitions -----------------------------------------------------------------------------

    def on_configure(self, _state: Any) -> Any:
        """Open the state and subscribe."""
        try:
            settings = Settings.of(parameter_values(self.node))
            if not settings.state:
                raise SpecError("the parameter state is empty: give the path of a state file")
            self._require_no_loop(settings)
            path = os.path.expanduser(settings.state)  # nobody else does it in a launch file
            boxes = finder(settings.finder) if settings.finder else None
            learner = Learner.open(path, profile=settings.profile)
            learner.finder = boxes
        except RobocleError as error:
            self.failure = str(error)
            log.error("cannot configure: %s", error)
            return self._results.FAILURE
        self._recogniser = Recogniser(learner, settings)
        self._health = Health()
        self._work = ImageWork(self._recogniser, self._health, self._publish)
        self._worker = Worker(self._work)
        self._matcher = StampMatcher(int(settings.tolerance * 1e9))
        self._subscribe(settings)
        self._announced = -1
        self._announce()
        return self._results.SUCCESS

    def on_activate(self, _state: Any) -> Any:
        """Start recognising."""
        self._active = True
        self._health.resume()
        return self._results.SUCCESS

    def on_deactivate(self, _state: Any) -> Any:
        """Stop recognising."""
        self._active = False
        self._frames.cancel("the node was deactivated")
        return self._results.SUCCESS

    def on_cleanup(self, _state: Any) -> Any:
        """Close the state."""
        self.close()
        return self._results.SUCCESS

    on_shutdown = on_error = on_cleanup

    def close(self) -> None:
        """Unsubscribe, finish what was begun, and close the state."""
        self._active = False
        self._frames.cancel("the node was cleaned up")
        for subscription in (self._images, self._boxes):
            if subscription is not None:
                self.node.destroy_subscription(subscription)
        self._images = self._boxes = None
        if self._worker is not None:
            self._worker.stop()
        recogniser, self._recogniser, self._worker = self._recogniser, None, None
        if recogniser is not None:
            recogniser.learner.close()

    @property
    def _running(self) -> bool:
        return self._active and self._enabled

    @property
    def _settings(self) -> Settings | None:
        """What the node was configured with."""
        return None if self._recogniser is None else self._recogniser.settings

    def _apply(self, settings: Settings) -> None:
        """Use other settings at once."""
        if self._recogniser is not None:
            self._recogniser.apply(settings)

    def _require_no_loop(self, settings: Settings) -> None:
        """Refuse to label the boxes that this node publishes.

        Raises:
            RosError: They have the same topic.
        """
        boxes = self.node.resolve_topic_name("boxes")
        if settings.boxes and boxes == self._publish.detections_topic:
            raise RosError(
                f"the node would label its own boxes in {boxes}: remap boxes to the topic of the "
                "detector, as in -r boxes:=/detector/boxes"
            )

    # --- topics and services ---------------------------------------------------------------------

    def _create_services(self) -> None:
        own, standard = required("robocle_interfaces.srv"), required("std_srvs.srv")
        # A request that waits for frames holds its group; images and timers are in another one.
        group = required("rclpy.callback_groups").ReentrantCallbackGroup()
        self._services = services = Services(self._configured, self._announce)
        for name, kind, callback in (
            ("teach", own.Teach, self._teach),
            ("undo", own.Undo, services.undo),
            ("forget", own.Forget, services.forget),
            ("rename", own.Rename, services.rename),
            ("list", own.List, services.list_labels),
            ("samples", own.Samples, services.samples),
            ("remove", own.Remove, services.remove),
            ("save", own.Save, services.save),
            ("enable", standard.SetBool, self._enable),
        ):
            self.node.create_service(kind, f"~/{name}", callback, callback_group=group)

    def _configured(self) -> Recogniser:
        if self._recogniser is None:
            raise RosError("the node is not configured: configure it first")
        return self._recogniser

    def _subscribe(self, settings: Settings) -> None:
        qos, messages = required("rclpy.qos"), required("sensor_msgs.msg")
        profile = qos.QoSProfile(
            depth=1, reliability=getattr(qos.ReliabilityPolicy, settings.reliability.upper())
        )
        # As image_transport does it: /compressed is added to what `image` is remapped to.
        kind, topic = messages.Image, self.node.resolve_topic_name("image")
        if settings.image_transport == "compressed":
            kind, topic = messages.CompressedImage, f"{topic}/compressed"
        create = self.node.create_subscription
        self._images = create(kind, topic, self._image, profile)
        if settings.boxes:
            boxes = required("vision_msgs.msg").Detection2DArray
            self._boxes = create(boxes, "boxes", self._detected, profile)

    # --- callbacks -------------------------------------------------------------------------------

    def _image(self, message: Any) -> None:
        """Hand an image over to the worker, or keep it until its boxes come."""
        if self._worker is None or not self._running:
            return
        self._health.image()
        if self._frames:
            self._offer(message)
        if self._boxes is None:
            self._worker.show((message, None))
            return
        boxes = self._matcher.image(_stamp(message), message)
        if boxes is not None:
            self._worker.show((message, boxes))

    def _detected(self, detections: Any) -> None:
        """Hand the boxes of a detector over with their image, if it has come."""
        if self._worker is None or not self._running:
            return
        image = self._matcher.boxes(_stamp(detections), detections)
        if image is not None:
            self._worker.show((image, detections))

    def _offer(self, message: Any) -> None:
        """Hand a frame over to the lesson that waits for it, unless it cannot be used."""
        try:
            picture = picture_of(message)
            decoded(picture)
            self._frames.offer(picture)
        except ImageError as error:
            if self._work is not None:
                self._work.refuse(error)

    async def _teach(self, request: Any, response: Any) -> Any:
        """Wait for frames, if needed, and let the worker learn them.

        The thread that talks to ROS answers other requests meanwhile.
        """
        try:
            count = self._services.frames_to_await(request, self._running)
            worker, recogniser = self._worker, self._configured()
        except RobocleError as error:
            return self._services.refuse(error, response)
        assert worker is not None
        answer = required("rclpy.task").Future(executor=self.node.executor)
        answer.add_done_callback(lambda _: None)  # wakes the executor

        def learn(frames: list[RosPicture], why: str = "") -> None:
            teach = self._services.teach
            worker.do(lambda: answer.set_result(teach(request, response, frames, why)))

        if count:
            self._frames.request(count, recogniser.settings.teach_timeout, learn)
        else:
            learn([])
        return await answer

    def _enable(self, request: Any, response: Any) -> Any:
        """Pause or resume recognition, without a transition."""
        self._enabled = request.data
        self._health.resume()
        if not self._enabled:
            self._frames.cancel("the node was disabled")
        response.success, response.message = True, "enabled" if request.data else "disabled"
        return response

    def _announce(self) -> None:
        """Publish what was taught, if this node or another program has changed it."""
        recogniser = self._recogniser
        if recogniser is not None and recogniser.version != self._announced:
            self._announced = recogniser.version
            settings = recogniser.settings
            self._publish.info(recogniser.learner, self._announced, settings.state)

    def _report(self) -> None:
        self._frames.expire()
        self._announce()
        recogniser = self._recogniser
        if recogniser is not None:
            self._publish.diagnostics(
                self._health.report(self._running, recogniser, self._matcher.unmatched)
            )


def _entity(robot: RobocleNode) -> Any:
    """Return a managed entity of rclpy that passes all transitions on."""
    entity = required("rclpy.lifecycle").ManagedEntity()
    for name in ("configure", "activate", "deactivate", "cleanup", "shutdown", "error"):
        setattr(entity, f"on_{name}", getattr(robot, f"on_{name}"))
    return entity


def _stamp(message: Any) -> int:
    stamp = message.header.stamp
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)
