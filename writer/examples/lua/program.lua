-- What the example is tried on: every way in which calls begin and end, and memory comes and goes, in Lua.
-- SPDX-License-Identifier: MIT

local function leaf(n)
    local text = ("x"):rep(n)
    return text .. n
end

local function deep(n)
    if n == 0 then
        error({ code = 7 })
    end
    local result = deep(n - 1)
    return result
end

-- Errors through several calls, caught at different depths, also in the handler of xpcall.
local function errors()
    for i = 1, 3 do
        local fine, what = pcall(deep, i * 5)
        assert(not fine and what.code == 7)
        leaf(i)
    end
    local _, text = xpcall(function()
        local function inner() return nil + 1 end
        return (inner())
    end, function(message)
        return leaf(3) .. message
    end)
    assert(text:find("arithmetic"))
    assert(not pcall(function() pcall(deep, 3) deep(4) end))
    assert(not pcall(string.rep))
    leaf(1)
end

-- A tail call replaces its caller.
local function count_down(n)
    if n == 0 then
        return leaf(2)
    end
    return count_down(n - 1)
end

local function generator(n)
    return coroutine.wrap(function()
        for i = 1, n do
            coroutine.yield(leaf(i))
        end
    end)
end

local waiting
local function coroutines()
    for text in generator(4) do
        leaf(#text)
    end
    -- Two that take turns, one inside the other.
    local outer = coroutine.create(function()
        local inner = generator(3)
        for _ = 1, 3 do
            coroutine.yield(inner())
        end
        return count_down(3)
    end)
    repeat
        local fine = coroutine.resume(outer)
        leaf(1)
    until not fine or coroutine.status(outer) == "dead"
    -- One that an error ends, inside two calls; one whose error goes on to its caller; one that never ends.
    local broken = coroutine.create(function() leaf(1) coroutine.yield() deep(2) end)
    coroutine.resume(broken)
    assert(not coroutine.resume(broken))
    leaf(2)
    assert(not pcall(coroutine.wrap(function() pcall(deep, 2) deep(3) end)))
    waiting = generator(2)
    waiting()
    for i = 1, 5 do
        assert(pcall(coroutine.wrap(function(n) return pcall(deep, n) end), i))
    end
end

local kept = {}
local function memory()
    for i = 1, 50 do
        kept[i] = { i, name = "a name that is long enough not to be interned " .. i }
    end
    local text = table.concat({ leaf(100), leaf(200) }, ", ")
    kept.text = text:upper()
    local add = function(a)
        return function(b)
            kept.sum = a + b
            return leaf(a)
        end
    end
    kept.add = add(3)
    kept.add(4)
    kept.thread = coroutine.create(function() end)
    local fields = {}
    for word in ("some words of different lengths"):gmatch("%a+") do
        fields[#fields + 1] = word .. ("!"):rep(50)
    end
    kept.fields = fields
    table.sort(fields, function(a, b)
        return a < b
    end)
    kept.packed = table.pack(string.byte(text, 1, 20))
    return kept
end

-- More garbage than a collector would let lie: tables, texts, closures and coroutines, also with finalizers.
local finalized = 0
local function garbage()
    local old
    for i = 1, 3000 do
        local new = setmetatable({ i, text = "a text that is garbage soon " .. i }, i % 10 == 0 and {
            __gc = function() finalized = finalized + 1 end,
        } or nil)
        new.add = function(a) return a + i end
        if i % 100 == 0 then
            old = new
            new.thread = coroutine.create(function() coroutine.yield(old) end)
            coroutine.resume(new.thread)
        end
    end
    assert(finalized > 0)
    return old
end

return { errors = errors, count_down = count_down, coroutines = coroutines, memory = memory, garbage = garbage }
