/* The playground's page in a headless browser, in real time: everything a
 * person does there. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "browser.h"
#include "playhouse.h"
#include "test.h"

#define LOAD_S 150 /* a loaded machine takes its time to draw in software */
#define WAIT_S 60
#define HEIGHT "playground.frames.raw(0, 0)[2]"

/* A user's hands. Events are made in the page: on a loaded machine the browser's own way of input waits for
 * pictures that are long in coming. */
static const char HANDS[] =
    "window.key = key => window.dispatchEvent(new KeyboardEvent('keydown', {key}));"
    "window.hand = (type, dx, dy) => {"
    "  const p = playground, torso = p.actors[0].robot.links[15], canvas = p.stage.renderer.domElement;"
    "  p.draw(0); p.stage.orbit.place(p.stage.camera); p.stage.camera.updateMatrixWorld(true);"
    "  p.actors[0].place.updateMatrixWorld(true);"
    "  const at = torso.getWorldPosition(new THREE.Vector3()); at.z += 0.1;"
    "  const [x, y] = p.onScreen(at), box = canvas.getBoundingClientRect();"
    "  canvas.dispatchEvent(new PointerEvent(type, {pointerId: 1, clientX: box.left + x + dx, clientY: box.top + y + dy,"
    "    bubbles: true, button: 0, buttons: +(type === 'pointerdown' || !!p.held), pointerType: 'mouse'}));"
    "}; 0";

static void open_page(bool models, int width, int height)
{
    char address[64];
    playhouse_open(models);
    playhouse_serve();
    snprintf(address, sizeof address, "http://127.0.0.1:%d/", playhouse_port());
    browser_open(address, width, height);
    browser_wait("window.playground && playground.state && playground.frames.to "
                 "&& playground.actors",
                 LOAD_S);
    json_decref(browser_eval(HANDS));
}

static void close_page(void)
{
    if (*browser_complaints()) test_fail(__FILE__, __LINE__, "the page said: %s", browser_complaints());
    browser_close();
    playhouse_close();
}

static void act(const char *script)
{
    json_decref(browser_eval(script));
}

static void click(const char *id)
{
    char script[200];
    snprintf(script, sizeof script, "byId('%s').click()", id);
    act(script);
}

static void test_hands(void)
{
    open_page(true, 640, 600);
    /* It moves, and pauses when told. */
    browser_wait("playground.frames.to[STEP] > 3", WAIT_S);
    act("key(' ')");
    browser_wait("playground.state.paused", WAIT_S);
    click("restart");
    browser_wait("playground.frames.to[STEP] === 0", WAIT_S);
    click("single");
    browser_wait("playground.frames.to[STEP] === 1", WAIT_S);

    /* A click on the torso is a punch, and it is announced before. */
    act("hand('pointermove', 0, 0)");
    ENSURE(browser_true("!byId('aim').hidden && byId('aim').textContent === '400 N on torso'"));
    act("hand('pointerdown', 0, 0), hand('pointerup', 0, 0)");
    browser_wait("/^punch 400 N/.test(playground.state.event)", WAIT_S);

    /* The robot, without and with it. */
    json_decref(browser_eval("window.still = Array.from(playground.frames.raw(0, 0))"));
    click("single");
    click("single");
    browser_wait("playground.frames.to[STEP] >= 2", WAIT_S);
    browser_wait("playground.frames.raw(0, 0).some((q, i) => Math.abs(q - "
                 "still[i]) > 1e-5)",
                 WAIT_S);

    /* Dragging is a pull, and the view does not turn; beside the robot it does. */
    const double before = browser_number("playground.stage.orbit.azimuth");
    act("hand('pointerdown', 0, 0), hand('pointermove', 40, -30)");
    ENSURE(browser_true("playground.held.dragging && playground.held.force.length() > 10"));
    act("hand('pointerup', 40, -30)");
    ENSURE(browser_number("playground.stage.orbit.azimuth") == before);
    act("hand('pointerdown', 0, -400), hand('pointermove', 30, -400), hand('pointerup', 30, -400)");
    ENSURE(browser_number("playground.stage.orbit.azimuth") != before);

    /* Pushes, settings, planner, two robots. */
    act("key('4')");
    browser_wait("playground.state.event === 'push 1.2 m/s to the left'", WAIT_S);
    json_decref(browser_eval("byId('payload').value = 12, "
                             "byId('payload').dispatchEvent(new Event('change'))"));
    browser_wait("playground.state.payload === 12", WAIT_S);
    ENSURE(browser_true("playground.state.planner"));
    click("planner");
    browser_wait("!playground.state.planner && playground.state.event === 'planner off'", WAIT_S);
    click("pair");
    browser_wait("playground.state.pair && playground.frames.robots === 2 && "
                 "playground.state.planner",
                 WAIT_S);
    browser_wait("[...byId('labels').children].map(x => x.textContent).join() "
                 "=== 'planner on,planner off'",
                 WAIT_S);
    ENSURE(browser_true("playground.actors[1].place.visible && "
                        "playground.actors[1].place.position.length() > 0.5"));
    json_decref(browser_eval("document.querySelector('[data-posture=\"1\"]').click()"));
    browser_wait("playground.state.posture === 1 && " HEIGHT " < 0.3", WAIT_S);
    close_page();
}

static void test_motions_and_links(void)
{
    open_page(true, 640, 600);
    act("key(' '), key('r')"); /* at its end a motion would give way to the queue at once */
    browser_wait("playground.state.paused && playground.frames.to[STEP] === 0", WAIT_S);
    act("document.querySelector('[data-tab=motions]').click()"); /* previews are fetched when they are seen */
    browser_wait("playground.catalogue.motions[1].poses", WAIT_S);
    json_decref(browser_eval("byId('search').value = 'floor', "
                             "byId('search').dispatchEvent(new Event('input'))"));
    ENSURE(browser_true("playground.catalogue.entries.map(e => e.hidden).join() "
                        "=== 'true,false'"));
    json_decref(browser_eval("playground.catalogue.entries[1].querySelector('button').click()"));
    browser_wait("playground.state.queue.join() === 'floor'", WAIT_S);
    json_decref(browser_eval("playground.catalogue.entries[1].click()"));
    browser_wait("playground.state.motion === 'floor' && "
                 "playground.state.queue.length === 0",
                 WAIT_S);

    act("key(' ')");
    browser_wait("!playground.state.paused", WAIT_S);

    /* A link has the run again: posture, push and all. */
    json_decref(browser_eval("document.querySelector('[data-posture=\"3\"]').click()"));
    browser_wait("playground.state.posture === 3", WAIT_S);
    act("key('8')");
    browser_wait("/^push/.test(playground.state.event)", WAIT_S);
    json_decref(browser_eval("playground.share().then(link => window.link = link)"));
    ENSURE(browser_true("byId('link').open && byId('link-field').value === link"));
    json_decref(browser_eval("byId('link').close(), byId('restart').click()"));
    browser_wait("playground.state.posture === -1", WAIT_S);
    json_decref(browser_eval("location.hash = new URL(link).hash"));
    browser_wait("playground.state.posture === 3 && playground.state.motion === 'floor'", WAIT_S);
    browser_wait("/^push 1.2/.test(playground.state.event)", WAIT_S);

    /* The replay that is downloaded opens. */
    browser_wait("playground.frames.to[STEP] > 20", WAIT_S);
    json_decref(browser_eval("fetch(byId('replay').href).then(a => "
                             "a.text()).then(text => window.saved = text)"));
    json_t *page = browser_eval("saved");
    ENSURE(json_is_string(page));
    test_write(test_path("saved.html"), json_string_value(page), json_string_length(page));
    json_decref(page);
    if (*browser_complaints()) test_fail(__FILE__, __LINE__, "the page said: %s", browser_complaints());
    char address[600];
    snprintf(address, sizeof address, "file://%s#play=0", test_path("saved.html"));
    browser_open(address, 800, 600);
    browser_wait("window.replay && replay.motion && replay.motion.n > 20 && "
                 "replay.plots.length === 3",
                 LOAD_S);
    ENSURE(browser_true("/planner on/.test(replay.items[0].name)"));
    close_page();
}

/* A line that breaks is mended; a second viewer watches; a phone's width shows
 * one panel at a time. */
static void test_line(void)
{
    open_page(false, 390, 800);
    ENSURE(browser_true("/There is no tracker/.test(byId('notices').textContent)"));
    ENSURE(browser_true("byId('planner').disabled && byId('pair').disabled"));
    ENSURE(browser_true("document.documentElement.scrollWidth <= 390"));
    static const char *const TAB[] = {"motions", "hands", "world", "plots"};
    for (int i = 0; i < 4; i++) {
        char script[300];
        snprintf(script, sizeof script,
                 "(document.querySelector('[data-tab=%s]').click(),"
                 "[...document.querySelectorAll('[data-panel]')].filter(e => "
                 "e.offsetHeight > 20)"
                 ".map(e => e.dataset.panel).join() === '%s')",
                 TAB[i], TAB[i]);
        ENSURE(browser_true(script));
        ENSURE(browser_true("byId('stage').clientHeight >= 200 && "
                            "byId('play').getBoundingClientRect().bottom <= 800"));
    }
    json_decref(browser_eval("playground.line.socket.close()"));
    browser_wait("playground.notices.has('line')", WAIT_S);
    browser_wait("!playground.notices.has('line') && "
                 "playground.line.socket.readyState === 1",
                 WAIT_S);
    json_decref(browser_eval("window.was = playground.frames.to"));
    browser_wait("playground.frames.to !== was", WAIT_S);
    json_decref(browser_eval("new Promise(ok => { window.other = new WebSocket('ws://' + "
                             "location.host + '/', 'heracles');"
                             "other.onmessage = m => { if (typeof m.data === 'string') "
                             "ok(window.said = JSON.parse(m.data)) } })"));
    ENSURE(browser_true("said.type === 'state' && !said.control"));
    browser_wait("playground.state.viewers === 2", WAIT_S);
    close_page();
}

TEST_TABLE({"play_page.hands", test_hands}, {"play_page.motions_and_links", test_motions_and_links},
           {"play_page.line", test_line})
